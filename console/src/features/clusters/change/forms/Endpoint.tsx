import { ChangeEndpoint } from '#contract/clusters/changes/endpoint.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { endpointShown } from '../../cluster-state.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'

const blank = { endpoint: '', virtual_ip: false, accept_unchecked: false }
type Typed = typeof blank
const { Text, Check } = fieldsFor<Typed>()

const read = (typed: Typed) =>
  readBy(
    ChangeEndpoint,
    { kind: 'endpoint', ...typed },
    typed.endpoint === '' ? { endpoint: 'Enter the new endpoint' } : {},
  )

/** Changes the endpoint of a cluster's Kubernetes API. */
export default function Endpoint({ cluster }: ChangeFormProps) {
  return (
    <ChangeForm
      cluster={cluster}
      kind="endpoint"
      initial={blank}
      read={read}
      command={(change) =>
        change.kind === 'endpoint'
          ? cliOf(['cluster', 'endpoint', cluster.name, change.endpoint], {
              'virtual-ip': change.virtual_ip,
              'accept-unchecked': change.accept_unchecked,
            })
          : ''
      }
    >
      {() => (
        <>
          <Text
            name="endpoint"
            label="New endpoint"
            hint={`Now ${endpointShown(cluster.endpoint)}. An IP address or a DNS name`}
            mono
            autoCapitalize="none"
          />
          <Check
            name="virtual_ip"
            label="Virtual IP: an unused address in the servers' network, held by the control planes"
          />
          <Check
            name="accept_unchecked"
            label="Continue even if Steelyard itself can't reach the new endpoint"
          />
        </>
      )}
    </ChangeForm>
  )
}
