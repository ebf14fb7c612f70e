import { countryNameIn, type Language, locales } from '@recur/kernel';

/** The country of a profile; a name that was not sent is absent. */
interface Country {
  countryCode?: string | undefined;
  countryName?: string | undefined;
}

/** The name that was sent, else that of the code, in a language; '' for a code that is not known. */
export const shownCountryName = ({ countryCode = '', countryName }: Country, language: Language): string =>
  countryName || countryNameIn(language, countryCode);

/**
 * The country with the sent fields applied. With another code, a name that was not sent too goes if it was that of the
 * earlier code: the name of the new one is shown then.
 */
export function countryAfter<C extends Country>(before: C, edit: Country): Country {
  const { countryCode = before.countryCode, countryName = before.countryName } = edit;
  const follows =
    edit.countryName === undefined && countryCode !== before.countryCode && isNameOf(countryName, before.countryCode);
  return { countryCode, countryName: follows ? '' : countryName };
}

const isNameOf = (name = '', code = '') =>
  (Object.keys(locales) as Language[]).some(language => countryNameIn(language, code) === name);
