import type { Failure, Output } from '@recur/client';
import { useMemo } from 'react';
import { countries } from '../text/countries.js';
import { type Key, useText } from '../text/text.js';

type User = Output<'/portal/user/detail'>['user'];

const fields = [
  ['firstName', 'given-name'],
  ['lastName', 'family-name'],
  ['companyName', 'organization'],
  ['address', 'street-address'],
  ['zipCode', 'postal-code'],
  ['city', 'address-level2'],
  ['state', 'address-level1'],
  ['vATNumber', 'off'],
] as const;
type Name = (typeof fields)[number][0] | 'countryCode';

/** The buyer's details on a bill. */
export type Details = Record<Name, string>;

export const detailsOf = (user: User): Details =>
  Object.fromEntries(
    [...fields.map(([name]) => name), 'countryCode' as const].map(name => [name, user[name]]),
  ) as Details;

/** The fields that differ, as user/update takes them. */
export const changedDetails = (before: Details, now: Details): Partial<Details> =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => before[name as Name] !== value));

interface Props {
  details: Details;
  onChange(details: Details): void;
  error?: Failure;
}

export function DetailsFields({ details, onChange, error }: Props) {
  const { t, country, language } = useText();
  const issueOf = (name: string) =>
    error?.issues.some(({ path }) => path === `/${name}`) ? t('details.check') : undefined;
  const names = useMemo(() => {
    const named = countries.map(code => ({ code, name: country(code) ?? code }));
    return named.sort((one, two) => one.name.localeCompare(two.name, language));
  }, [country, language]);
  return (
    <div className="fields">
      {fields.map(([name, autoComplete]) => (
        <Field
          key={name}
          label={t(`details.${name}` satisfies Key)}
          value={details[name]}
          autoComplete={autoComplete}
          issue={issueOf(name)}
          onChange={value => onChange({ ...details, [name]: value })}
        />
      ))}
      <label className="field">
        {t('details.countryCode')}
        <select
          value={details.countryCode}
          autoComplete="country"
          onChange={event => onChange({ ...details, countryCode: event.target.value })}
        >
          <option value="">–</option>
          {names.map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange(value: string): void;
  autoComplete?: string;
  issue?: string;
}

export function Field({ label, value, onChange, autoComplete = 'off', issue }: FieldProps) {
  return (
    <label className="field">
      {label}
      <input
        value={value}
        autoComplete={autoComplete}
        aria-invalid={issue !== undefined}
        onChange={event => onChange(event.target.value)}
      />
      {issue && <span className="small issue">{issue}</span>}
    </label>
  );
}
