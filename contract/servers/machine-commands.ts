/**
 * Commands to a machine of a cluster, one row each. The API call and its route, the operation, the
 * audit entry, the event, the console's action with its dialog, and the CLI command follow from the
 * row. `backend/src/domains/servers/contact/commanding.ts` has the call of Talos for each.
 */

/**
 * How a command ends. The key is the key of the operation's second step, the value is that step's
 * title.
 */
export const commandEnds = {
  back: (s: { readonly name: string }) => `${s.name} runs again`,
  off: (s: { readonly name: string }) => `${s.name} is off`,
  kubelet: (s: { readonly name: string }) => `The kubelet of ${s.name} is healthy`,
}

interface Row {
  /** Last part of the API's path; `server <verb>` in the CLI. */
  readonly verb: string
  /**
   * Label of the console's action; part of the titles of the operation ("Reboot calm-otter-101")
   * and of its first step ("Tell calm-otter-101 to reboot").
   */
  readonly title: string
  /** Summary of the API call and of the CLI command. */
  readonly summary: string
  readonly until: keyof typeof commandEnds
  readonly audit: `server.${string}`
  /** Text of the server's event. */
  readonly event: string
  /** What the CLI prints after the server's name: "calm-otter-101 is being rebooted". */
  readonly begun: string
  /** Name of an icon (`console/src/ui/pictures/Icon.tsx`). */
  readonly icon: string
  /** Title of the confirmation. */
  readonly question: (server: string) => string
  /** Text of the confirmation. */
  readonly consequence: string
  /**
   * The action is shown in red, and the server's name has to be typed. For commands that can't be
   * undone from the console.
   */
  readonly danger: boolean
}

export const machineCommands = {
  serverReboot: {
    verb: 'reboot',
    title: 'Reboot',
    summary: 'Reboot a server of a cluster.',
    until: 'back',
    audit: 'server.reboot_requested',
    event: 'A reboot was requested',
    begun: 'is being rebooted',
    icon: 'refresh',
    question: (server: string) => `Reboot ${server}?`,
    consequence: 'What runs on the server stops until the server is back, in a few minutes.',
    danger: false,
  },
  serverShutdown: {
    verb: 'shutdown',
    title: 'Shut down',
    summary: 'Shut down a server of a cluster.',
    until: 'off',
    audit: 'server.shutdown_requested',
    event: 'A shutdown was requested',
    begun: 'is being shut down',
    icon: 'power',
    question: (server: string) => `Shut down ${server}?`,
    consequence: "The server stays off until somebody switches it on: Steelyard can't.",
    danger: true,
  },
  serverRestartKubelet: {
    verb: 'restart-kubelet',
    title: 'Restart kubelet',
    summary: 'Restart the kubelet of a server of a cluster; its pods keep running.',
    until: 'kubelet',
    audit: 'server.kubelet_restart_requested',
    event: 'A restart of the kubelet was requested',
    begun: 'is restarting its kubelet',
    icon: 'refresh',
    question: (server: string) => `Restart the kubelet of ${server}?`,
    consequence:
      'Its pods keep running. The node may be NotReady until the kubelet is healthy again, in a few seconds.',
    danger: false,
  },
} as const satisfies Record<`server${string}`, Row>

export type MachineCommand = keyof typeof machineCommands
export const machineCommandKinds = Object.keys(machineCommands) as MachineCommand[]
