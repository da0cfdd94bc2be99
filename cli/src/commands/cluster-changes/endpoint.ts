/** Changes the endpoint of a cluster's Kubernetes API. */
import { command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'

export const endpointCommand = command({
  name: 'cluster endpoint',
  summary:
    'Change the endpoint of the Kubernetes API. Both endpoints work until every server uses the new one.',
  operands: {
    cluster: noun.cluster,
    endpoint: { value: 'ADDRESS', help: 'Address or DNS name of the Kubernetes API' },
  },
  options: {
    'virtual-ip': {
      kind: 'flag',
      help: 'The endpoint is a virtual IP: an unused address that the control planes share',
    },
    'accept-unchecked': {
      kind: 'flag',
      help: 'Continue even if Steelyard itself cannot reach the new endpoint',
    },
    ...changeOptions,
  },
  examples: [
    'cluster endpoint web 10.0.0.100 --virtual-ip --dry-run',
    'cluster endpoint web api.web.example --yes --wait',
  ],
  run(context, { operands, options }) {
    const change = {
      kind: 'endpoint',
      endpoint: operands.endpoint,
      virtual_ip: options['virtual-ip'],
      accept_unchecked: options['accept-unchecked'],
    } as const
    return runChange(context, operands.cluster, change, options)
  },
})
