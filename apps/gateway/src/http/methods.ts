import { Rejected } from '@recur/kernel';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** Methods that a path takes, sorted; none for an unknown path. */
    methodsOf(path: string): readonly string[];
  }
}

/** Notes the methods of every route that is registered from now on. */
export function rememberMethods(http: FastifyInstance): void {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  http.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const each of [method].flat()) route.methods.add(each);
    routes.set(url, route);
  });
  http.decorate('methodsOf', path => {
    const exact = routes.get(path);
    const matching = exact ? [exact] : [...routes.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
  });
}

/** The paths of a route: `:name` stands for a part of the path, `*` for the rest. */
function patternOf(url: string): RegExp {
  const literal = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
}

/** Rejection of a method that a known path does not take, with the header `Allow`; undefined where the path is unknown. */
export function wrongMethod({ server, url, method }: FastifyRequest, reply: FastifyReply): Rejected | undefined {
  const methods = server.methodsOf(url.split('?', 1)[0] as string);
  if (methods.length === 0) return undefined;
  reply.header('allow', methods.join(', '));
  const named = methods.filter(each => each !== 'HEAD').join(' or ');
  return new Rejected('method_not_allowed', `This path takes ${named}, not ${method}`);
}
