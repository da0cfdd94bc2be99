import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Action } from '../../ui/actions.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { KeyValue, Panel } from '../../ui/text/Panel.tsx'
import css from './ClusterPage.module.css'
import { endpointShown, versionShown } from './cluster-state.ts'

const mono = (text: string) => <span className="mono">{text}</span>

/** Settings from the creation, and the actions in `ending` that delete the cluster. */
export function ClusterSettings({ cluster: c, ending }: { cluster: Cluster; ending: readonly Action[] }) {
  return (
    <div className={css['cols']}>
      <Panel title="Configuration" note="fixed when the cluster was made">
        <KeyValue
          rows={[
            ['Name', c.name],
            ['Datacenter', c.datacenter.code],
            ['Kubernetes', versionShown(c.kubernetes_version)],
            ['Talos', versionShown(c.talos_version)],
            [
              'API endpoint',
              <Copyable key="e" value={c.endpoint} what="API endpoint">
                {endpointShown(c.endpoint)}
              </Copyable>,
            ],
            ['Held by', c.virtual_ip ? 'The control planes together: a virtual IP' : 'A fixed address or name'],
            ['VLAN ID', c.vlan_id ?? 'None, untagged'],
            ['Pod CIDR', mono(c.pod_cidr)],
            ['Service CIDR', mono(c.service_cidr)],
          ]}
        />
      </Panel>
      <Panel title="End the cluster">
        <div className="stack stack3">
          <p className="fs13 t2">
            Deleting resets its servers, workers first: what the cluster holds is wiped, Talos stays installed, and the servers are free again once a person has
            confirmed each. Where servers never answer again, a cluster that failed or is degraded can be forgotten instead; nothing is wiped then.
          </p>
          <div className="row wrap">
            {ending.map((action) => (
              <Button key={action.label} kind="danger" icon={action.icon} can={action.can} onClick={() => void action.run?.()}>
                {action.label}
              </Button>
            ))}
          </div>
        </div>
      </Panel>
    </div>
  )
}
