import { useEffect } from 'react';

const headings = 'h1, h2, h3';
const controls = 'a, button, input, select, summary, [tabindex]';

/** The element, and what it is in, from the inside out. */
const placesOf = (element: Element): Element[] => [
  element,
  ...(element.parentElement ? placesOf(element.parentElement) : []),
];

/**
 * Keeps the focus in place where the control that has it goes away: it passes to the heading of the part that the control
 * was in. A control that was only disabled for a while has it again afterwards.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let places: Element[] = [];
    const enter = ({ target }: Event) => {
      places = target instanceof Element ? placesOf(target) : [];
    };
    // unless the control went away or is disabled, its user has left it
    const leave = ({ target }: Event) =>
      queueMicrotask(() => {
        const isUsable = target instanceof Element && target.isConnected && !target.matches(':disabled');
        if (isUsable && target === places[0] && target !== document.activeElement) places = [];
      });
    // a press beside all controls takes the focus away on purpose; not every browser gives it to a button that is pressed
    const press = ({ target }: Event) => {
      const control = target instanceof Element && target.closest(controls);
      places = control ? placesOf(control) : [];
    };
    const restore = () => {
      const [holder] = places;
      if (holder === undefined || document.activeElement !== document.body) return;
      if (holder.isConnected) return focus(holder);
      const part = places.find(place => place.isConnected && place.querySelector(headings));
      const heading = part?.querySelector<HTMLElement>(headings);
      if (!heading) return;
      heading.tabIndex = -1;
      focus(heading);
    };
    const observer = new MutationObserver(restore);
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] });
    document.addEventListener('focusin', enter);
    document.addEventListener('focusout', leave);
    document.addEventListener('pointerdown', press);
    return () => {
      observer.disconnect();
      document.removeEventListener('focusin', enter);
      document.removeEventListener('focusout', leave);
      document.removeEventListener('pointerdown', press);
    };
  }, []);
}

function focus(element: Element): void {
  if (element instanceof HTMLElement) element.focus({ preventScroll: true });
}
