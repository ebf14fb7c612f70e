let armed: string | undefined;

/** Arms one named crash point: the process ends there as by SIGKILL. For tests of recovery. */
export function armCrash(point: string | undefined): void {
  armed = point;
}

/** A place where a crash would hurt most. Does nothing unless a test has armed it. */
export function crashPoint(name: string): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL');
}
