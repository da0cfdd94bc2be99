/**
 * An etcd that Talos has given up. Talos starts a service that has run again and again, but one that
 * fails before it runs stays so for the rest of the boot: it hasn't found an etcd to join within 30
 * minutes, or its image within 20 (Talos `service_runner.go`, Run; `services/etcd.go`, PreFunc,
 * buildInitialCluster; `containers/image/image.go`, PullTimeout). Only Bootstrap starts it again, and
 * Talos doesn't restart it by request.
 */

const before = 'Failed to run pre stage: '
const gaveUp = 'Talos does not start it again before the server restarts'

/** Whether Talos has given etcd or the kubelet up, by the state and message of the service. */
export const hasGivenUp = (state: string, message: string | null): boolean =>
  state === 'Failed' && message?.startsWith(before) === true

/** Why etcd isn't healthy, from the state and message of its service. */
export const etcdIll = (state: string, message: string | null): string => {
  const said = `etcd is ${state}${message ? `: ${message.replace(/\.$/, '')}` : ''}`
  return hasGivenUp(state, message) ? `${said}. ${gaveUp}` : said
}

/** Whether a sentence of `etcdIll` says that Talos has given etcd up. */
export const isGivenUp = (ill: string): boolean => ill.endsWith(gaveUp)
