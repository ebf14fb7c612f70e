import { useEffect } from 'react';

/** The look of a checkout template: `color` (#rrggbb) for buttons, `logo` (a data:image URL) and `note`, a sentence above the form. */
export interface Look {
  color: string;
  logo: string;
  note: string;
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');
/** Only a picture that comes with the answer: the pages ask no other host. */
const pictureIn = (url: string) => (url.startsWith('data:image/') ? url : '');

export function lookOf(data: Record<string, unknown> = {}): Look {
  const color = text(data.color);
  return { color: /^#[0-9a-f]{6}$/i.test(color) ? color : '', logo: pictureIn(text(data.logo)), note: text(data.note) };
}

/** Black or white, whichever contrasts more with a colour (WCAG 2 relative luminance). */
function inkOn(color: string): string {
  const linear = [1, 3, 5].map(at => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = linear;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000000' : '#ffffff';
}

/** Gives the page the colour of a look, in both themes. */
export function useLook({ color }: Look): void {
  useEffect(() => {
    if (color === '') return;
    const { style } = document.documentElement;
    style.setProperty('--brand', color);
    style.setProperty('--on-brand', inkOn(color));
  }, [color]);
}
