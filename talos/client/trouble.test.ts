import { expect, test } from 'vitest'
import type { TalosEvent } from './events.ts'
import { troubleIn } from './trouble.ts'
import { processorMs } from '../../tools/testing/processor-time.ts'

const kernel = (said: string, facility = 'user') =>
  `${facility}: warning: [2026-11-20T21:57:48.573137Z]: ${said}`
const machined = (said: string) => `2026/11/20 21:57:48.573137 ${said}`
const call = machined(
  'machined OK [/machine.MachineService/ServiceList] 1.204ms unary Success (:authority=127.0.0.1;content-type=application/grpc)',
)
const origin = { id: 'd1', actorId: '' }

const pulling = [
  kernel('[talos] install sequence: 9 phase(s)'),
  kernel('[talos] phase install (2/9): 1 tasks(s)'),
  kernel('[talos] task install (1/1): starting'),
  kernel('[talos] task install (1/1): installing Talos to disk /dev/sda'),
  kernel('[talos] pulling "x:v1"'),
]

test('a failed image pull stays the reason, even if the log repeats only the registry’s error', () => {
  const log = [
    ...pulling,
    kernel('[talos] retrying error: failed to pull image "x:v1": connection refused'),
  ]
  const again = kernel(
    'level=info msg=fetch failed error=failed to do request: dial tcp 10.0.0.1:443: connection refused host=x image=x:v1',
  )
  const found = troubleIn([...log, ...Array.from({ length: 60 }, () => again)].join('\n'))
  expect(found.reason).toBe('failed to pull image "x:v1": connection refused')
  expect(found.lines).toEqual([...log, `${again} (60 times)`])
  // Talos's own line about the failure is no longer in the log, so the reason comes from
  // containerd's line.
  expect(troubleIn(again).reason).toBe(
    'fetch failed: failed to do request: dial tcp 10.0.0.1:443: connection refused',
  )
})

test('a failed installer is reported with its exit code and last line', () => {
  const log = [
    ...pulling,
    kernel('running Talos installer v1.13.9'),
    kernel('sda: sda1 sda2', 'kern'),
    kernel('failed to install bootloader: write /dev/sda: input/output error'),
    kernel('sda: detached', 'kern'),
    kernel('[talos] task install (1/1): failed: task "upgrade" failed: exit code 1'),
    kernel('[talos] phase install (2/9): failed'),
    kernel('[talos] install sequence: failed'),
    kernel('[talos] rebooting in 10 seconds'),
  ].join('\n')
  expect(troubleIn(log).reason).toBe(
    'task "upgrade" failed: exit code 1: failed to install bootloader: write /dev/sda: input/output error',
  )
})

test('a failed installation while Talos 1.14 boots is reported, until the installer runs again', () => {
  const controller =
    '"component": "controller-runtime", "controller": "runtime.UnattendedInstallController"'
  const begin = kernel(
    `[talos] installing Talos {${controller}, "disk": "/dev/sda", "image": "x:v1"}`,
  )
  const failed = kernel(
    `[talos] controller failed {${controller}, "error": "failed to run installer: task \\"upgrade\\" failed: exit code 1"}`,
  )
  const log = [
    kernel('[talos] install sequence: 0 phase(s)'),
    kernel('[talos] boot sequence: 8 phase(s)'),
    begin,
    kernel('running Talos installer v1.14.1'),
    kernel('failed to zero blockdevice /dev/sda: input/output error'),
    failed,
  ]
  const reason =
    'task "upgrade" failed: exit code 1: failed to zero blockdevice /dev/sda: input/output error'
  expect(troubleIn(log.join('\n')).reason).toBe(reason)
  expect(troubleIn([...log, begin].join('\n')).reason).toBe(reason)
  // Another controller's failure isn't the installation's.
  const other = failed.replace('UnattendedInstallController', 'OtherController')
  expect(troubleIn([...log.slice(0, -1), other].join('\n')).reason).toBeNull()
  const again = kernel('running Talos installer v1.14.1')
  expect(troubleIn([...log, begin, again].join('\n')).reason).toBeNull()
})

test('what the boot does after a failed installation of Talos 1.14 does not hide it, and neither does the reset that follows', () => {
  const controller =
    '"component": "controller-runtime", "controller": "runtime.UnattendedInstallController"'
  const log = [
    '[talos] install sequence: 0 phase(s)',
    '[talos] boot sequence: 8 phase(s)',
    `[talos] installing Talos {${controller}, "disk": "/dev/sda", "image": "x:v1"}`,
    'running Talos installer v1.14.1',
    'created META (0FC63DAF-8483-4772-8E79-3D69D8477DE4)',
    'failed to install bootloader: failed to install grub: exit status 1: Installing for i386-pc platform.',
    'grub-install: error: cannot write.',
    `[talos] controller failed {${controller}, "error": "failed to run installer: task \\"upgrade\\" failed: exit code 1"}`,
  ].map((said) => kernel(said))
  const more = [
    '[talos] phase ephemeral (6/8): done, 1s',
    '[talos] boot sequence: done, 3s',
    '[talos] reset sequence: 9 phase(s)',
    '[talos] task leave (1/1): failed: etcd is not running',
    '[talos] phase cleanup (1/9): done, 1s',
  ].map((said) => kernel(said))
  const cause =
    'task "upgrade" failed: exit code 1: failed to install bootloader: failed to install grub: exit status 1: Installing for i386-pc platform. grub-install: error: cannot write'
  expect(troubleIn(log.join('\n'))).toMatchObject({ reason: cause, installFailure: cause })
  for (let i = 1; i <= more.length; i++)
    expect(troubleIn([...log, ...more.slice(0, i)].join('\n')).installFailure).toBe(cause)
  const installed = kernel(`[talos] install successful {${controller}}`)
  expect(troubleIn([...log, installed].join('\n')).installFailure).toBeNull()
})

const grub =
  'failed to install bootloader: failed to install grub: exit status 1: Installing for i386-pc platform.'
const usage = [
  'Usage:',
  '  installer install [flags]',
  '',
  'Flags:',
  '  -h, --help   help for install',
  '',
  'Global Flags:',
  '      --zero   Write zeros',
  '',
]

test("the error of a failed installer is the reason, and its usage text isn't shown", () => {
  const log = [
    ...pulling,
    kernel('running Talos installer v1.13.9'),
    kernel(`Error: ${grub}`),
    kernel('grub-install: error: cannot write.'),
    ...usage.slice(0, 3).map((line) => kernel(line)),
    kernel('vda: vda1 vda2', 'kern'),
    ...usage.slice(3).map((line) => kernel(line)),
    kernel(grub),
    kernel('grub-install: error: cannot write.'),
    kernel('[talos] task install (1/1): failed: task "upgrade" failed: exit code 1'),
  ]
  const found = troubleIn(log.join('\n'))
  expect(found.reason).toBe(
    `task "upgrade" failed: exit code 1: ${grub} grub-install: error: cannot write`,
  )
  expect(found.lines.join('\n')).not.toMatch(/Usage|Flags|--|installer install/)
  expect(found.lines.filter((line) => line.includes('vda: vda1 vda2'))).toHaveLength(1)
})

test('a volume without which Talos does not boot is the reason, until it is there', () => {
  const status = (volume: string, phase: string, error = '') =>
    kernel(
      `[talos] volume status {"component": "controller-runtime", "controller": "block.VolumeManagerController", "volume": "${volume}", "phase": "${phase}"${error && `, "error": "${error}"`}}`,
    )
  const boot = kernel('[talos] boot sequence: 18 phase(s)')
  const failed = status('EPHEMERAL', 'waiting -> failed', 'no disks matched for volume \\"x\\"')
  const reasonOf = (...log: string[]) => troubleIn(log.join('\n')).reason
  expect(reasonOf(boot, failed)).toBe(
    'the volume EPHEMERAL has failed: no disks matched for volume "x"',
  )
  expect(reasonOf(boot, failed, status('EPHEMERAL', 'failed -> ready'))).toBeNull()
  // Talos boots without the volumes of users, and a restart gives all of them up.
  expect(reasonOf(boot, status('u-data', 'failed -> failed', 'no disks matched'))).toBeNull()
  const restart = kernel('[talos] reboot sequence: 10 phase(s)')
  expect(reasonOf(restart, status('STATE', 'failed -> failed', 'no such attribute(s)'))).toBeNull()
  // A failed task says more.
  const task = kernel('[talos] task install (1/1): failed: exit code 1')
  expect(reasonOf(boot, failed, task)).toBe('exit code 1')
})

test('the lines of controllers and services are no last message of a running installation', () => {
  const controller = kernel(
    '[talos] volume status {"component": "controller-runtime", "controller": "block.VolumeManagerController"}',
  )
  const log = [
    ...pulling,
    kernel('[talos] pulling image x:v1: downloading 1 layers (29 MiB/50 MiB) (58.00%)...'),
    controller,
    kernel('[talos] service[apid](Running): Health check successful'),
  ]
  expect(troubleIn(log.join('\n')).last).toBe(
    'pulling image x:v1: downloading 1 layers (29 MiB/50 MiB) (58.00%)...',
  )
})

test('a failed pull is over when layers arrive, but not when the next attempt starts', () => {
  const retried = kernel('[talos] retrying error: failed to pull image "x:v1": x:v1: not found')
  const again = [...pulling, retried, kernel('[talos] pulling image x:v1: starting...')]
  expect(troubleIn(again.join('\n')).reason).toBe('failed to pull image "x:v1": x:v1: not found')
  for (const says of ['downloading 1 layers (29 MiB/50 MiB) (58.00%)...', 'extracting...'])
    expect(
      troubleIn([...again, kernel(`[talos] pulling image x:v1: ${says}`)].join('\n')).reason,
    ).toBeNull()
})

test('a restart by somebody is no reason of a failure, and its phase is known', () => {
  const canceled = [
    kernel('[talos] boot sequence: 9 phase(s)'),
    kernel('[talos] task mountEphemeral (1/1): starting'),
    kernel('[talos] task mountEphemeral (1/1): failed: context canceled'),
    kernel('[talos] boot sequence: failed'),
  ]
  const restart = [
    kernel('[talos] reboot sequence: 10 phase(s)'),
    kernel('[talos] phase unmountSystem (6/10): 1 tasks(s)'),
    kernel('[talos] phase unmountSystem (6/10): done, 1ms'),
    kernel('[talos] phase volumeFinalize (7/10): 1 tasks(s)'),
    kernel('[talos] task teardownLifecycle (1/1): starting'),
  ]
  const late = [
    kernel('[talos] task teardownLifecycle (1/1): failed: context deadline exceeded'),
    kernel('[talos] phase volumeFinalize (7/10): failed'),
  ]
  const failed: TalosEvent = {
    ...origin,
    kind: 'sequence',
    sequence: 'boot',
    action: 'noop',
    error: 'sequence failed: error running phase 5 in boot sequence: context canceled',
  }
  for (const log of [canceled, [...canceled, ...restart], [...canceled, ...restart, ...late]])
    expect(
      troubleIn(log.join('\n'), [
        failed,
        { ...failed, sequence: 'reboot', error: 'sequence failed: context deadline exceeded' },
      ]).reason,
    ).toBeNull()
  expect(troubleIn(canceled.join('\n')).restartPhase).toBeNull()
  expect(troubleIn([...canceled, ...restart, ...late].join('\n')).restartPhase).toBe(
    'volumeFinalize (7/10)',
  )
})

test('the last message of a running installation is found among lines of the kernel and of API calls', () => {
  const log = [
    ...pulling,
    kernel('running Talos installer v1.13.9'),
    kernel('created META (0FC6)\t'),
    kernel('sda: sda1 sda2', 'kern'),
    call,
  ]
  expect(troubleIn(log.join('\n'))).toMatchObject({ reason: null, last: 'created META (0FC6)' })
  expect(troubleIn(pulling.join('\n')).last).toBe('pulling "x:v1"')
  expect(troubleIn('').last).toBeNull()
})

test('a resolved problem is no longer the reason', () => {
  const retried = kernel('[talos] retrying error: failed to pull image "x:v1": i/o timeout')
  expect(troubleIn(kernel('[talos] install sequence: 0 phase(s)')).isInstallSkipped).toBe(true)
  expect(
    troubleIn([...pulling, retried, kernel('running Talos installer v1.13.9')].join('\n')).reason,
  ).toBeNull()
  expect(
    troubleIn([...pulling, retried, kernel('[talos] task install (1/1): done, 12.1s')].join('\n'))
      .reason,
  ).toBeNull()
})

test("log lines about API calls are never shown and never a reason, even in machined's own log", () => {
  const failed = machined(
    '[talos] task install (1/1): failed: no disks matched the expression: x\u001b[2J',
  )
  const found = troubleIn(
    [
      ...Array.from({ length: 300 }, () => call),
      failed,
      ...Array.from({ length: 300 }, () => call),
    ].join('\n'),
  )
  expect(found).toEqual({
    reason: 'no disks matched the expression: x\ufffd[2J',
    installFailure: null,
    isInstallSkipped: false,
    last: 'task install (1/1): failed: no disks matched the expression: x\ufffd[2J',
    restartPhase: null,
    lines: [failed.replace('\u001b', '\ufffd')],
  })
})

test('if the log contains no reason, the reason comes from events', () => {
  const service: TalosEvent = {
    ...origin,
    kind: 'service',
    service: 'kubelet',
    action: 'failed',
    message: 'Failed to run pre stage: failed to pull image "k:v9": not found',
    healthy: undefined,
  }
  expect(troubleIn('', [service]).reason).toBe(
    'kubelet: Failed to run pre stage: failed to pull image "k:v9": not found',
  )
  expect(
    troubleIn('', [service, { ...service, action: 'running', message: 'Health check successful' }])
      .reason,
  ).toBeNull()
  const sequence: TalosEvent = {
    ...origin,
    kind: 'sequence',
    sequence: 'install',
    action: 'noop',
    error:
      'sequence failed: error running phase 2 in install sequence: task 1/1: failed, task "upgrade" failed: exit code 1',
  }
  expect(troubleIn('', [service, sequence]).reason).toBe('task "upgrade" failed: exit code 1')
  expect(
    troubleIn('', [{ ...origin, kind: 'config_error', error: 'config not found' }]).reason,
  ).toBe('config not found')
})

test('reading a hostile log takes linear time', async () => {
  const hostile = `level=info msg="fetch failed" error=${' a=b'.repeat(20_000)}\n${'user: '.repeat(20_000)}\n[talos] task ${'x-'.repeat(20_000)}`
  expect(await processorMs(() => troubleIn(hostile))).toBeLessThan(2_000)
})
