import { stopEverything } from './down.js';
import { takesNoArguments } from './failure.js';
import { eraseHome, openHome } from './home.js';
import { say } from './progress.js';

/** `npm run reset`: stops the stack of this checkout and erases its data, keys and logs. */
export async function run(args: readonly string[]): Promise<number> {
  takesNoArguments('npm run reset', args);
  const home = openHome();
  const stopped = await stopEverything(home);
  eraseHome(home);
  say(`${stopped ? 'Stopped the stack and erased' : 'Erased'} the local data. "npm start" begins anew.`);
  return 0;
}
