/**
 * Commands to a machine of a cluster, one row each. From a row follow the API call and its route, the operation, the audit entry, the event, the console's
 * action with its dialog, and the CLI command. Which call of Talos carries a command out stands in `backend/src/domains/servers/contact/commanding.ts`.
 */

/** How a command ends: the title of the operation's second step, whose key it is. */
export const commandEnds = {
  back: (s: { readonly name: string }) => `${s.name} runs again`,
  off: (s: { readonly name: string }) => `${s.name} is off`,
  kubelet: (s: { readonly name: string }) => `The kubelet of ${s.name} is healthy`,
}

interface Row {
  /** Last part of the API's path; `server <verb>` in the CLI. */
  readonly verb: string
  /** Of the console's action; with the server's name, of the operation; in lower case, of the order: "Tell calm-otter-101 to reboot". */
  readonly title: string
  /** Of the API call and the CLI command. */
  readonly summary: string
  readonly until: keyof typeof commandEnds
  readonly audit: `server.${string}`
  /** In the events of the server. */
  readonly event: string
  /** "calm-otter-101 …": what the CLI prints. */
  readonly begun: string
  /** Name of an icon of the console. */
  readonly icon: string
  /** Title of the confirmation. */
  readonly question: (server: string) => string
  /** What the confirmation says. */
  readonly consequence: string
  /** Shown in red, and the server's name has to be typed. */
  readonly danger: boolean
}

export const machineCommands = {
  serverReboot: {
    verb: 'reboot',
    title: 'Reboot',
    summary: 'Reboot a server of a cluster.',
    until: 'back',
    audit: 'server.reboot_requested',
    event: 'A reboot was asked for',
    begun: 'is being rebooted',
    icon: 'refresh',
    question: (server: string) => `Reboot ${server}?`,
    consequence: 'What runs on it stops until it is back, in a few minutes.',
    danger: false,
  },
  serverShutdown: {
    verb: 'shutdown',
    title: 'Shut down',
    summary: 'Shut down a server of a cluster.',
    until: 'off',
    audit: 'server.shutdown_requested',
    event: 'A shutdown was asked for',
    begun: 'is being shut down',
    icon: 'power',
    question: (server: string) => `Shut down ${server}?`,
    consequence: "It stays off until somebody switches it on: Steelyard can't.",
    danger: true,
  },
  serverRestartKubelet: {
    verb: 'restart-kubelet',
    title: 'Restart kubelet',
    summary: 'Restart the kubelet of a server of a cluster; its pods go on running.',
    until: 'kubelet',
    audit: 'server.kubelet_restart_requested',
    event: 'A restart of the kubelet was asked for',
    begun: 'is restarting its kubelet',
    icon: 'refresh',
    question: (server: string) => `Restart the kubelet of ${server}?`,
    consequence: 'Its pods go on running. The node may be NotReady until the kubelet is healthy again, in a few seconds.',
    danger: false,
  },
} as const satisfies Record<`server${string}`, Row>

export type MachineCommand = keyof typeof machineCommands
export const machineCommandKinds = Object.keys(machineCommands) as MachineCommand[]
