/** What the documentation of the API shows. */

/** An example of a cluster to create. */
export const newCluster = {
  name: 'poz-edge-01',
  datacenter_id: '00000000-0000-4000-8000-000000000001',
  servers: [
    { node_id: '00000000-0000-4000-8000-000000000002', role: 'control_plane' },
    {
      node_id: '00000000-0000-4000-8000-000000000003',
      role: 'worker',
      workload_disks: ['/dev/nvme1n1'],
      patch: {
        name: 'more-connections',
        weight: 500,
        labels: { team: 'edge' },
        body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
      },
    },
  ],
}
