import {
  Bus,
  collectWhenIdle,
  createLog,
  parseConfig,
  startTracing,
  stopTracing,
  systemClock,
  tuneEngine,
} from '@recur/platform';
import { gatewayConfig } from './config.js';
import { Gateway } from './gateway.js';

tuneEngine();
const config = parseConfig(gatewayConfig);
const log = createLog('gateway', config.LOG_LEVEL);
// exits at once while starting; as process 1 of a container it would otherwise ignore the signal
const leave = () => process.exit(0);
process.once('SIGTERM', leave);
await startTracing('gateway', config);
const bus = await Bus.connect(config.NATS_URL, 'gateway', systemClock, log);
const gateway = await Gateway.create({ config, bus, clock: systemClock, log });

process.off('SIGTERM', leave);
process.once('SIGTERM', async () => {
  log.info('draining');
  await gateway.drain();
  await stopTracing();
  log.info('drained');
  process.exit(0);
});
process.once('SIGINT', () => process.kill(process.pid, 'SIGTERM'));

try {
  log.info(await gateway.listen(), 'listening');
  collectWhenIdle();
} catch (error) {
  log.fatal({ err: error }, `cannot listen on ${config.HOST}, port ${config.PORT} or ${config.OPS_PORT}`);
  process.exit(1);
}
