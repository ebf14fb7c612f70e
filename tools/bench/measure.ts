/** One line of the result. A ratio above 1 is better than the limit, whichever way the measure points. */
export interface Measure {
  value: number;
  unit: string;
  limit: number;
  ratio: number;
}
