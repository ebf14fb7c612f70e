/** A day's reference rates as the European Central Bank publishes them. */
export const dayOf = (time: string, rates: Readonly<Record<string, string>>) => `<Cube time='${time}'>
${Object.entries(rates)
  .map(([currency, rate]) => `<Cube currency='${currency}' rate='${rate}'/>`)
  .join('\n')}
</Cube>`;

export const envelopeOf = (...days: readonly string[]) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject>
<gesmes:Sender>
<gesmes:name>European Central Bank</gesmes:name>
</gesmes:Sender>
<Cube>
${days.join('\n')}
</Cube>
</gesmes:Envelope>`;

/** The daily file of one day. */
export const fileOf = (time: string, rates: Readonly<Record<string, string>>) => envelopeOf(dayOf(time, rates));
