import { OAuth2Server } from 'oauth2-mock-server';

const keySource = '/.well-known/openid-configuration';

/** Subject of an identity token. */
export interface Subject {
  sub: string;
  email: string;
  aud: string;
}

/** An identity provider on this machine, with discovery and published keys that can be rotated. */
export class LocalIssuer {
  private constructor(
    private readonly server: OAuth2Server,
    private kid: string,
    /** Where its keys are, as its discovery document says. */
    readonly jwksUrl: string,
  ) {}

  static async start(): Promise<LocalIssuer> {
    const server = new OAuth2Server();
    const { kid } = await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    const discovered = await fetch(`${server.issuer.url}${keySource}`);
    const { jwks_uri: jwksUrl } = (await discovered.json()) as { jwks_uri: string };
    return new LocalIssuer(server, kid, jwksUrl);
  }

  get issuer(): string {
    return this.server.issuer.url ?? '';
  }

  /** Signs with another key from now on; the one before stays published. */
  async rotate(): Promise<void> {
    this.kid = (await this.server.issuer.keys.generate('RS256')).kid;
  }

  /** An identity token of somebody whose e-mail is verified. */
  token({ sub, email, aud }: Subject): Promise<string> {
    return this.server.issuer.buildToken({
      kid: this.kid,
      scopesOrTransform: (_header, payload) => Object.assign(payload, { sub, email, aud, email_verified: true }),
    });
  }

  close(): Promise<void> {
    return this.server.stop();
  }
}
