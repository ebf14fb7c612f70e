import { eventOccasions, events, type WebhookEventName, webhookEventNames } from '@recur/contracts';
import { z } from 'zod';
import { parameter } from './headers.js';
import { type Components, type Json, pascal } from './schemas.js';
import { tagOf } from './tags.js';

/** A webhook for each event that is emitted: the request that an endpoint receives. */
export const webhooksOf = (components: Components): Json =>
  Object.fromEntries(webhookEventNames.map(name => [name, { post: delivery(name, components) }]));

function delivery(name: WebhookEventName, components: Components): Json {
  return {
    operationId: `event.${name}`,
    summary: eventOccasions[name].replace(/\.$/, ''),
    description: `Sent to endpoints that subscribed to \`${name}\`; \`data\` is the ${words(events[name].aggregate)} after it.`,
    tags: [tagOf(name)],
    security: [],
    parameters: [parameter('WebhookId'), parameter('WebhookTimestamp'), parameter('WebhookSignature')],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: components.add(`${pascal(name)}Event`, webhookBody(name, components), name) },
      },
    },
    responses: {
      '2XX': { description: 'Received; any other response, or none within 15 seconds, causes a retry' },
      410: { description: 'Disables the endpoint' },
    },
  };
}

/** The body of a delivery. */
function webhookBody(name: WebhookEventName, components: Components): Json {
  const { properties } = components.of(z.object({ data: events[name].data }), 'output') as { properties: Json };
  return {
    type: 'object',
    properties: {
      type: { type: 'string', const: name },
      timestamp: { type: 'string', format: 'date-time', description: 'The time of the event' },
      merchantId: { type: 'integer', format: 'int64' },
      sequence: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        description: 'Counts the changes of the object: after a higher one, this one is out of date. 0 in a test',
      },
      data: properties.data,
      test: {
        type: 'boolean',
        const: true,
        description: 'Present only in deliveries that webhook/test_event asked for',
      },
    },
    required: ['type', 'timestamp', 'merchantId', 'sequence', 'data'],
  };
}

/** `pendingUpdate` as words: `pending update`. */
const words = (aggregate: string) => aggregate.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
