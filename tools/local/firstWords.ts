import { connect } from 'node:net';

const answerWithinMs = 5_000;

/** First output of a server, by default one on the loopback address, or its answer to `question`; empty when there is none. */
export function firstWords(port: number, question = '', host = '127.0.0.1'): Promise<string> {
  return new Promise(resolve => {
    const socket = connect({ port, host });
    const done = (words: string) => {
      socket.destroy();
      resolve(words);
    };
    socket.setTimeout(answerWithinMs, () => done(''));
    socket.once('error', () => done(''));
    socket.once('close', () => done(''));
    socket.once('data', data => done(data.toString('utf8')));
    if (question !== '') socket.write(question);
  });
}
