import { http, type Listening } from '@recur/platform/testing';

interface Asked {
  countryCode: string;
  vatNumber: string;
  requesterMemberStateCode?: string;
  requesterNumber?: string;
}

/** A server on loopback that speaks the REST API of VIES, and answers as it is told. */
export class FakeVies {
  readonly asked: Asked[] = [];
  /** Status and body of the next answers. */
  next: (asked: Asked) => { status?: number; body: unknown } = known;

  private constructor(private readonly server: Listening) {}

  static async start(): Promise<FakeVies> {
    const server = await http((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', chunk => chunks.push(chunk));
      request.on('end', () => {
        const asked: Asked = JSON.parse(Buffer.concat(chunks).toString());
        vies.asked.push(asked);
        const { status = 200, body } = vies.next(asked);
        response.statusCode = request.method === 'POST' && request.url === '/rest-api/check-vat-number' ? status : 404;
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    });
    const vies = new FakeVies(server);
    return vies;
  }

  get env(): Record<string, string> {
    return { VIES_URL: `${this.server.url}rest-api/`, VIES_ALLOW_LOOPBACK: 'true' };
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

export const known = ({ countryCode, vatNumber }: Asked) => ({
  body: {
    countryCode,
    vatNumber,
    requestDate: '2026-01-15T12:00:00Z',
    valid: true,
    requestIdentifier: 'WAPIAAAA1',
    name: 'ACME OÜ',
    address: 'Narva mnt 1\nTallinn',
    traderName: '---',
  },
});
export const unknown = ({ countryCode, vatNumber }: Asked) => ({
  body: { countryCode, vatNumber, valid: false, requestIdentifier: '', name: '---', address: '---' },
});
export const failing = (error: string) => () => ({
  status: 500,
  body: { actionSucceed: false, errorWrappers: [{ error }] },
});
