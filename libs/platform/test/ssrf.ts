/**
 * Ways to write or to reach an address that is not public. The canary listens on every address of this machine, on
 * PORT: whoever is let through where it leads here is heard. What leads elsewhere has to be refused as well.
 */

/** Refused by their text: no name is looked up for them, no socket opened. */
export const refusedUrls = `
http://127.0.0.1:PORT/
http://127.0.0.1.:PORT/
http://127.0.0.1..:PORT/
http://127.1:PORT/
http://127.0.1:PORT/
http://2130706433:PORT/
http://2130706433.:PORT/
http://0x7f000001:PORT/
http://0x7F.0x0.0x0.0x1:PORT/
http://0x7f.1:PORT/
http://017700000001:PORT/
http://0177.0.0.1:PORT/
http://0177.0x0.0.01:PORT/
http://00000177.0.0.1:PORT/
http://127.255.255.254:PORT/
http://127.0.0.2:PORT/
http://127.000.000.001:PORT/
http://①②⑦.⓪.⓪.①:PORT/
http://127。0。0。1:PORT/
http://1\t27.0.0.1:PORT/
http://%31%32%37.0.0.1:PORT/
http://127%2e0%2e0%2e1:PORT/
http:127.0.0.1:PORT/
http:\\\\127.0.0.1:PORT\\
http:/\\127.0.0.1:PORT/
http:///127.0.0.1:PORT/
HTTP://127.0.0.1:PORT/
http://0:PORT/
http://0.0.0.0:PORT/
http://0.0.0.0.:PORT/
http://0x0:PORT/
http://00:PORT/
http://0.1.2.3:PORT/
http://[::1]:PORT/
http://[0:0:0:0:0:0:0:1]:PORT/
http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/
http://[::0.0.0.1]:PORT/
http://[::]:PORT/
http://[0::0]:PORT/
http://[::ffff:127.0.0.1]:PORT/
http://[::ffff:7f00:1]:PORT/
http://[::FFFF:7F00:0001]:PORT/
http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/
http://[::ffff:0.0.0.0]:PORT/
http://[::ffff:169.254.169.254]:PORT/
http://[::ffff:10.0.0.1]:PORT/
http://[::ffff:8.8.8.8]:PORT/
http://[::ffff:0:127.0.0.1]:PORT/
http://[::127.0.0.1]:PORT/
http://[::7f00:1]:PORT/
http://[::10.0.0.1]:PORT/
http://[64:ff9b::127.0.0.1]:PORT/
http://[64:ff9b::7f00:1]:PORT/
http://[64:ff9b::a9fe:a9fe]:PORT/
http://[64:ff9b:1::7f00:1]:PORT/
http://[64:ff9b:1:ffff::1]:PORT/
http://[2002:7f00:1::]:PORT/
http://[2002:7f00:1::1]:PORT/
http://[2002:a00:1::1]:PORT/
http://[2001:0:7f00:1::]:PORT/
http://[2001::1]:PORT/
http://[2001:10::1]:PORT/
http://[2001:20::1]:PORT/
http://[2001:db8::1]:PORT/
http://[3fff::1]:PORT/
http://[3fff:fff::1]:PORT/
http://[100::1]:PORT/
http://[5f00::1]:PORT/
http://[fc00::1]:PORT/
http://[fd00:ec2::254]:PORT/latest/meta-data/
http://[fdff:ffff::1]:PORT/
http://[fe80::1]:PORT/
http://[fe80::1%25lo]:PORT/
http://[febf::1]:PORT/
http://[fec0::1]:PORT/
http://[feff::1]:PORT/
http://[ff02::1]:PORT/
http://[ff0e::1]:PORT/
http://[4000::1]:PORT/
http://[9999::1]:PORT/
http://[1::1]:PORT/
http://10.0.0.1:PORT/
http://10.255.255.255:PORT/
http://0xa000001:PORT/
http://012.0.0.1:PORT/
http://100.64.0.1:PORT/
http://100.127.255.255:PORT/
http://100.100.100.200:PORT/latest/meta-data/
http://168.63.129.16:PORT/
http://169.254.169.254:PORT/latest/meta-data/
http://169.254.169.254.:PORT/latest/meta-data/
http://2852039166:PORT/latest/meta-data/
http://0xA9FEA9FE:PORT/latest/meta-data/
http://0251.0376.0251.0376:PORT/
http://169.254.43518:PORT/
http://169.254.170.2:PORT/v2/credentials
http://172.16.0.1:PORT/
http://172.31.255.255:PORT/
http://192.0.0.192:PORT/
http://192.0.2.1:PORT/
http://192.88.99.1:PORT/
http://192.168.0.1:PORT/
http://192.168.65535:PORT/
http://3232235521:PORT/
http://198.18.0.1:PORT/
http://198.19.255.255:PORT/
http://198.51.100.1:PORT/
http://203.0.113.1:PORT/
http://224.0.0.1:PORT/
http://239.255.255.255:PORT/
http://240.0.0.1:PORT/
http://255.255.255.255:PORT/
http://4294967295:PORT/
http://localhost:PORT/
http://LOCALHOST:PORT/
http://localhost.:PORT/
http://localhost..:PORT/
http://loca%6chost:PORT/
http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/
http://lo\u00adcalhost:PORT/
http://local\thost:PORT/
http://shop.localhost:PORT/
http://a.b.localhost.:PORT/
http://localhost.localdomain:PORT/
http://printer.local:PORT/
http://router.home.arpa:PORT/
http://metadata.google.internal:PORT/computeMetadata/v1/
http://METADATA.google.INTERNAL.:PORT/
http://instance-data.ec2.internal:PORT/
http://host.docker.internal:PORT/
http://kubernetes.default.svc:PORT/
http://kubernetes.default.svc.cluster.local:PORT/
http://kubernetes:PORT/
http://redis:PORT/
http://postgres.:PORT/
http://local:PORT/
http://internal:PORT/
http://a..b.example:PORT/
http://.example:PORT/
http://user@127.0.0.1:PORT/
http://user:secret@hooks.example:PORT/
http://hooks.example@127.0.0.1:PORT/
http://:secret@hooks.example:PORT/
http://127.0.0.1:PORT#@hooks.example/
http://127.0.0.1:PORT\\@hooks.example/
http://hooks.example:PORT@127.0.0.1:PORT/
http://[::1]:PORT\\@hooks.example/
ftp://127.0.0.1:PORT/
file:///etc/passwd
gopher://127.0.0.1:PORT/_POST
unix:/var/run/docker.sock
ws://127.0.0.1:PORT/
data:text/plain,hello
javascript:alert(1)
blob:http://127.0.0.1:PORT/x
//127.0.0.1:PORT/
127.0.0.1:PORT
http://
http://[::1
http://1.2.3.4.5:PORT/
http://256.256.256.256:PORT/
http://99999999999:PORT/
http://127.0.0.1:99999/
http://hooks.example:-1/
`
  .split('\n')
  .filter(line => line !== '');

/** What a name may resolve to: each alone, and each beside a public address, refuses it. */
export const refusedAddresses = [
  ...['127.0.0.1', '127.8.8.8', '0.0.0.0', '10.1.2.3', '100.64.0.1', '100.100.100.200', '168.63.129.16'],
  ...['169.254.169.254', '172.16.0.1', '172.31.0.1', '192.0.0.192', '192.168.1.1', '198.18.0.1', '224.0.0.1'],
  ...['255.255.255.255', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:a00:1', '::ffff:0:7f00:1'],
  ...['64:ff9b::7f00:1', '64:ff9b:1::1', '2001::7f00:1', '2002:7f00:1::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1'],
  ...['fe80::1%lo', 'fec0::1', 'ff02::1', 'not an address', '', '2130706433', '0x7f.1', '127.1', '[::1]'],
];

/** The neighbours of what is refused, and names that only look like it: all of these may be called. */
export const publicUrls = [
  ...[
    'https://hooks.example/',
    'http://hooks.example:8080/a?b=c',
    'https://hooks.example./',
    'https://xn--bcher-kva.example/',
  ],
  ...['https://localhost.example/', 'https://mylocalhost.example/', 'https://internal.example/', 'https://a.notlocal/'],
  ...[
    'https://local.hooks.example/',
    'https://svc.example/',
    'https://a.mysvc/',
    'https://hooks.example/http://127.0.0.1/',
  ],
  ...['https://hooks.example/?to=http://127.0.0.1/', 'https://127.0.0.1.nip.example/', 'https://0x7f.example/'],
  ...['http://1.1.1.1/', 'http://9.255.255.255/', 'http://11.0.0.0/', 'http://100.63.255.255/', 'http://100.128.0.0/'],
  ...['http://126.255.255.255/', 'http://128.0.0.0/', 'http://168.63.129.15/', 'http://169.253.255.255/'],
  ...[
    'http://169.255.0.0/',
    'http://172.15.255.255/',
    'http://172.32.0.0/',
    'http://192.0.1.0/',
    'http://192.167.255.255/',
  ],
  ...['http://192.169.0.0/', 'http://198.17.255.255/', 'http://198.20.0.0/', 'http://203.0.112.255/'],
  ...['http://203.0.114.0/', 'http://223.255.255.255/', 'http://16843009/'],
  ...['http://[2606:4700:4700::1111]/', 'http://[2001:200::1]/', 'http://[2a00:1450::1]:8443/', 'http://[2003::1]/'],
  ...['http://[3ffe::1]/', 'http://[2001:db7:ffff::1]/', 'http://[2001:db9::1]/'],
];
