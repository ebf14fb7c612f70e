import { Life } from '../../../../../tools/journeys/model/life.js';
import type { Expected } from '../../../../../tools/journeys/model/sales.js';
import type { History, Step } from './history.js';

/** The documents of a history, as the model has them. */
export function expectedOf(history: History): readonly Expected[] {
  const life = new Life(history);
  for (const step of history.steps) take(life, step);
  const { part, ...ending } = history.ending;
  life.live(life.placed(part));
  life.wait();
  life.cancel(ending);
  return life.sales.expected;
}

function take(life: Life, step: Step): void {
  if (step.do === 'renew') {
    life.live(life.end);
    return;
  }
  life.live(life.placed(step.part));
  life.wait();
  if (step.do === 'use') life.use(step.units);
  else if (step.do === 'change') life.change(step);
  else if (step.do === 'extend') life.extend(step.hours * 3600);
  else life.changeDueDay(life.dueDayFrom(step.day));
}
