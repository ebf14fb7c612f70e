import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A mail server on loopback that refuses the recipients it is told to, and remembers the others. */
export class SmtpServer {
  /** The code with which a recipient is refused. */
  readonly refusals = new Map<string, number>();
  readonly taken: string[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer(socket => this.serve(socket));

  static async open(): Promise<SmtpServer> {
    const smtp = new SmtpServer();
    await new Promise<void>(resolve => smtp.server.listen(0, '127.0.0.1', resolve));
    return smtp;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise(resolve => this.server.close(() => resolve()));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let [buffer, recipient, inData] = ['', '', false];
    const answer = (line: string): string | undefined => {
      if (inData) {
        if (line !== '.') return undefined;
        inData = false;
        this.taken.push(recipient);
        return '250 taken';
      }
      if (line.startsWith('DATA')) {
        inData = true;
        return '354 go on';
      }
      recipient = /^RCPT TO:<(.+)>/.exec(line)?.[1] ?? recipient;
      const refusal = line.startsWith('RCPT') ? this.refusals.get(recipient) : undefined;
      return refusal === undefined ? '250 fine' : `${refusal} <${recipient}> is not taken`;
    };
    socket.on('error', () => undefined);
    socket.on('data', chunk => {
      buffer += chunk;
      const lines = buffer.split('\r\n');
      buffer = lines.pop() ?? '';
      for (const said of lines.map(answer)) if (said !== undefined) socket.write(`${said}\r\n`);
    });
    socket.write('220 ready\r\n');
  }
}
