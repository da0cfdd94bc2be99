/** The components of a control plane that a change waits for. */
export const components = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'kubelet',
] as const
export type Component = (typeof components)[number]
