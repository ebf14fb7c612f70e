import { oncePerTurn } from '../runtime/turns.js';

/** Answers questions of one kind, in their order. */
export type AnswerAll<Q, A> = (questions: readonly Q[]) => Promise<readonly A[]>;

interface WaitingQuery {
  answerAll: AnswerAll<unknown, unknown>;
  questions: unknown[];
  asked: { resolve: (answer: unknown) => void; reject: (error: unknown) => void }[];
}

/**
 * Joins the questions of items that go the same way side by side: those of one kind that are asked within one turn of the
 * event loop are answered together, by one statement for all items instead of one each.
 */
export class Joint {
  private waiting = new Map<string, WaitingQuery>();
  private readonly answerSoon = oncePerTurn(() => {
    const kinds = [...this.waiting.values()];
    this.waiting = new Map();
    for (const kind of kinds) void answered(kind);
  });

  /** `answerAll` is that of the first question of a kind: it must be the same for all of them. */
  ask<Q, A>(kind: string, question: Q, answerAll: AnswerAll<Q, A>): Promise<A> {
    return new Promise((resolve, reject) => {
      const alike = this.waiting.get(kind) ?? {
        answerAll: answerAll as WaitingQuery['answerAll'],
        questions: [],
        asked: [],
      };
      this.waiting.set(kind, alike);
      alike.questions.push(question);
      alike.asked.push({ resolve: resolve as (answer: unknown) => void, reject });
      this.answerSoon();
    });
  }
}

async function answered({ answerAll, questions, asked }: WaitingQuery): Promise<void> {
  try {
    const answers = await answerAll(questions);
    if (answers.length !== questions.length)
      throw new Error(`${answers.length} answers to ${questions.length} questions`);
    asked.forEach(({ resolve }, at) => {
      resolve(answers[at]);
    });
  } catch (error) {
    for (const { reject } of asked) reject(error);
  }
}

/** Lets equal questions share one answer. */
export const distinct =
  <Q, A>(answerAll: AnswerAll<Q, A>, keyOf: (question: Q) => string): AnswerAll<Q, A> =>
  async questions => {
    const byKey = new Map(questions.map(question => [keyOf(question), question]));
    // in the same order in every transaction: some of the answers lock rows
    const keys = [...byKey.keys()].sort();
    const answers = await answerAll(keys.map(key => byKey.get(key) as Q));
    const found = new Map(keys.map((key, at) => [key, answers[at] as A]));
    return questions.map(question => found.get(keyOf(question)) as A);
  };
