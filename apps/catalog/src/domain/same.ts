/**
 * Whether two states of one object say the same. Objects are compared by their members in any order, since a JSON
 * document comes back from the database in an order of its own.
 */
export function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  if (names.length !== others.length) return false;
  return names.every(
    name => Object.hasOwn(other, name) && same(one[name as keyof typeof one], other[name as keyof typeof other]),
  );
}
