import { endpointStatus, endpointType, type WebhookEndpoint } from '@recur/contracts';
import type { EndpointRow } from './tables.js';

/** The public view of an endpoint, in answers and in events. It holds no secret. */
export function endpointView(endpoint: EndpointRow): WebhookEndpoint {
  return {
    id: endpoint.endpointId,
    merchantId: endpoint.merchantId,
    type: endpoint.connectionId === null ? endpointType.own : endpointType.automation,
    webhookUrl: endpoint.url,
    webhookEvents: endpoint.events,
    productIds: endpoint.productIds,
    ordered: endpoint.ordered,
    status: endpoint.state === 'enabled' ? endpointStatus.active : endpointStatus.disabled,
    isDeleted: endpoint.deletedTime,
    createTime: endpoint.createTime,
    gmtModify: endpoint.modifyTime,
  };
}
