import { expect, test } from 'vitest'
import { createCommand } from './create-command.ts'
import { blank } from './create-draft.ts'

const servers = ['a', 'b', 'c'].map((id) => ({ id, name: `server-${id}` }))
const how = { roleSet: true, link: '', installDisk: 'sda', workloadDisks: [] }

test('the form as a command: servers by name and role, disks per server, and nothing that is left as it is', () => {
  const draft = {
    ...blank,
    name: 'web',
    servers: { a: { ...how, role: 'control_plane' as const }, c: { ...how, role: 'worker' as const, link: 'eth1', workloadDisks: ['sdb', 'sdc'] } },
  }
  expect(createCommand(draft, servers, 'PL-POZ-1')).toBe(
    'steelyard cluster create web --datacenter PL-POZ-1 --control-plane server-a --worker server-c --interface server-c=eth1' +
      ' --install-disk server-a=/dev/sda --install-disk server-c=/dev/sda --workload-disk server-c=/dev/sdb --workload-disk server-c=/dev/sdc',
  )
})

test('what was chosen in the first step is said', () => {
  const draft = {
    ...blank,
    name: 'web',
    talos: 'v1.12.11',
    kubernetes: '1.34.0',
    vlan: '214',
    endpointKind: 'virtual' as const,
    endpoint: '10.0.0.9',
    podCidr: '10.1.0.0/16',
  }
  expect(createCommand(draft, servers, 'PL-POZ-1')).toBe(
    'steelyard cluster create web --datacenter PL-POZ-1 --talos-version v1.12.11 --kubernetes-version 1.34.0 --endpoint 10.0.0.9 --virtual-ip --vlan-id 214 --pod-cidr 10.1.0.0/16',
  )
})
