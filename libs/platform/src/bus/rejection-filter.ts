import { type ArgumentsHost, Catch, ForbiddenException, type RpcExceptionFilter } from '@nestjs/common';
import { RpcException } from '@nestjs/microservices';
import { Rejected } from '@recur/kernel';
import { type Observable, throwError } from 'rxjs';

/** Nest's message when a guard answers false. */
const FORBIDDEN = 'Forbidden resource';

/**
 * The global exception filter: passes every exception on to the transport, which answers rejections and logs bugs; Nest's
 * own would make each "Internal server error". A guard's refusal becomes `permission_denied`.
 */
@Catch()
export class RejectionFilter implements RpcExceptionFilter {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => (isGuardRefusal(error) ? new Rejected('permission_denied') : error));
  }
}

const isGuardRefusal = (error: unknown) =>
  error instanceof ForbiddenException || (error instanceof RpcException && error.getError() === FORBIDDEN);
