/** Containers that Talos 1.14 runs itself, outside Kubernetes. */
import { bytesOf } from '../services.ts'
import { quoted, type RuntimeRule } from '../rule.ts'

const folder = 'Talos internal/app/machined/pkg/controllers/containers'

/** Capabilities of Linux (`include/uapi/linux/capability.h`). */
const capabilities = new Set(
  `AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE
  DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE
  MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID
  SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE
  SYS_TIME SYS_TTY_CONFIG SYSLOG WAKE_ALARM`.split(/\s+/),
)
/** Talos gives these up itself (`pkg/machinery/constants`, DefaultDroppedCapabilities). */
const givenUp = new Set(['SYS_BOOT', 'SYS_MODULE'])

/** Folders of Talos's root file system (`hack/cleanup.sh`, `pkg/machinery/constants`). */
const folders = new Set('boot dev etc lib opt proc run sbin bin sys system tmp usr var'.split(' '))

export const containerRules: readonly RuntimeRule[] = [
  {
    id: 'container-volume',
    source: `${folder}/mount.go (v1.14.1): "waiting for volume to be mounted"; config.go adds the prefix of user volumes to the name`,
    level: 'refuse',
    *find(config) {
      const volumes = new Set(config.of('UserVolumeConfig').map((one) => one.text('name')))
      for (const document of config.of('ContainerConfig'))
        for (const { path } of document.items('mounts')) {
          const name = document.text(...path, 'userVolume', 'name')
          if (name !== '' && !volumes.has(name))
            yield {
              document,
              path: [...path, 'userVolume', 'name'],
              sentence: `No UserVolumeConfig has the name ${name}, so the container ${document.text('name')} waits for it and never starts`,
            }
        }
    },
  },
  {
    id: 'container-time',
    source:
      'Talos pkg/machinery/resources/containers (v1.14.1), TimeReady: "If time sync is disabled on the node, this gate can never be satisfied"',
    level: 'refuse',
    *find(config) {
      const isOff =
        config.main.flag('machine', 'time', 'disabled') ||
        config.of('TimeSyncConfig').some((one) => one.has('enabled') && !one.flag('enabled'))
      if (!isOff) return
      for (const document of config.of('ContainerConfig'))
        if (document.flag('dependsOn', 'time'))
          yield {
            document,
            path: ['dependsOn', 'time'],
            sentence: `The container ${document.text('name')} waits for the time, which this server doesn’t synchronize, so it never starts`,
          }
    },
  },
  {
    id: 'container-order',
    source:
      'Talos pkg/machinery/resources/containers (v1.14.1), ContainerDependsOnSpec.Ready: looks at networks, time and paths only',
    level: 'warn',
    *find(config) {
      const names = new Set(config.of('ContainerConfig').map((one) => one.text('name')))
      for (const document of config.of('ContainerConfig'))
        for (const { path, text } of document.texts('dependsOn', 'containers'))
          yield {
            document,
            path,
            sentence: names.has(text)
              ? `Talos 1.14 doesn’t wait for the container ${text}: dependsOn.containers has no effect yet. Use dependsOn.paths, with a file that it makes`
              : `No ContainerConfig has the name ${text}, and Talos 1.14 doesn’t wait for containers`,
          }
    },
  },
  {
    id: 'container-tmpfs-size',
    source: `${folder}/config.go (v1.14.1), resolveMounts: one size that can’t be read stops all containers of the server, and no validator looks at it`,
    level: 'refuse',
    *find(config) {
      for (const document of config.of('ContainerConfig'))
        for (const { path } of document.items('mounts')) {
          const text = document.text(...path, 'tmpfs', 'size')
          if (text !== '' && bytesOf(text) === null)
            yield {
              document,
              path: [...path, 'tmpfs', 'size'],
              sentence: `${quoted(text)} is not a size such as 64MiB, and Talos starts no container of this server with it`,
            }
        }
    },
  },
  {
    id: 'container-tmpfs-option',
    source:
      'opencontainers/runc libcontainer/specconv: rbind makes a mount a bind mount, whose source "tmpfs" does not exist',
    level: 'refuse',
    *find(config) {
      for (const document of config.of('ContainerConfig'))
        for (const { path } of document.items('mounts'))
          for (const { path: where, text } of document.texts(...path, 'tmpfs', 'options'))
            if (text === 'rbind')
              yield {
                document,
                path: where,
                sentence: `A tmpfs can’t be mounted with ${text}, so the container ${document.text('name')} does not start`,
              }
    },
  },
  {
    id: 'container-memory',
    source: `${folder}/containerd_runner.go (v1.14.1): the limit is the cgroup’s memory.max; runc ends with "container init was OOM-killed"`,
    level: 'refuse',
    *find(config) {
      for (const document of config.of('ContainerConfig')) {
        const path = ['resources', 'limits', 'memory']
        const text = document.text(...path)
        const bytes = bytesOf(text)
        if (bytes !== null && bytes < 1024 ** 2)
          yield {
            document,
            path,
            sentence: `No container starts with ${bytes} bytes of memory: write a unit, such as ${/^\d+$/.test(text) ? text : '64'}MiB`,
          }
      }
    },
  },
  {
    id: 'container-capability',
    source:
      'Linux include/uapi/linux/capability.h; opencontainers/runc libcontainer/capabilities: unknown ones are ignored',
    level: 'refuse',
    *find(config) {
      for (const document of config.of('ContainerConfig'))
        for (const list of ['add', 'drop'])
          for (const { path, text } of document.texts('security', 'capabilities', list))
            if (text !== 'ALL' && text !== '' && !capabilities.has(text))
              yield {
                document,
                path,
                sentence: `Linux has no capability ${text}, such as NET_ADMIN or SYS_PTRACE`,
              }
    },
  },
  {
    id: 'container-capability-given-up',
    source:
      'Talos pkg/machinery/constants, DefaultDroppedCapabilities; internal/pkg/capability (v1.14.1): not grantable',
    level: 'warn',
    *find(config) {
      for (const document of config.of('ContainerConfig'))
        for (const { path, text } of document.texts('security', 'capabilities', 'add'))
          if (givenUp.has(text))
            yield {
              document,
              path,
              sentence: `Talos itself runs without ${text}, so the container ${document.text('name')} may not start with it`,
            }
    },
  },
  {
    id: 'container-host-path',
    source: `${folder}/mount.go (v1.14.1): "a path which must already exist"; Talos’s root file system is read-only`,
    level: 'warn',
    *find(config) {
      for (const document of config.of('ContainerConfig'))
        for (const { path } of document.items('mounts')) {
          const source = document.text(...path, 'hostPath', 'source')
          const [, first = ''] = /^\/+([^/]+)/.exec(source) ?? []
          if (first !== '' && !folders.has(first))
            yield {
              document,
              path: [...path, 'hostPath', 'source'],
              sentence: `Talos has no folder ${source}, and creates none, so the container ${document.text('name')} does not start: use a user volume, or a folder below /var`,
            }
        }
    },
  },
]
