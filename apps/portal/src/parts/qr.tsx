import { encode } from 'uqr';

/** A QR code as one path, on white whatever the theme: scanners expect dark on light. */
export default function Qr({ content, label }: { content: string; label: string }) {
  const { data, size } = encode(content, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <path d={path} />
    </svg>
  );
}
