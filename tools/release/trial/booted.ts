/** A Debian root that is booted with its own systemd, as a machine, in namespaces of its own. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { attempt, type Ran } from '../artefact.ts'

const cgroupName = `steelyard-release-${process.pid}`

/** A control group of its own, so that systemd finds itself at the top of the tree. */
const enter = [
  'set -e',
  '[ -z "$4" ] || bash -ec "$4"',
  'mount -t cgroup2 cgroup2 "$1/mnt"',
  'mkdir "$1/mnt/$2"',
  'echo $$ >"$1/mnt/$2/cgroup.procs"',
  'umount "$1/mnt"',
  'exec unshare --pid --fork --mount --uts --ipc --cgroup --kill-child bash -c "$3" bash "$1"',
].join('\n')

/** What systemd asks of whoever starts it as process 1 (systemd.io/CONTAINER_INTERFACE). */
const boot = [
  'set -e',
  'mount --bind "$1" "$1"',
  'mount -t proc proc "$1/proc"',
  'mount -t sysfs -o ro sysfs "$1/sys"',
  'mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"',
  'mount -t tmpfs -o mode=755 tmpfs "$1/run"',
  'mount -t tmpfs -o mode=755 tmpfs "$1/dev"',
  'for name in null zero full random urandom tty; do',
  '  touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"',
  'done',
  'ln -s /proc/self/fd "$1/dev/fd"',
  'mkdir "$1/dev/shm" "$1/dev/pts"; mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"',
  'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"; ln -s pts/ptmx "$1/dev/ptmx"',
  'cd "$1"; mkdir -p old; pivot_root . old; umount -l /old',
  'exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system',
].join('\n')

/** Empty control groups stay until they are removed, the inner ones first. */
const sweep =
  'mount -t cgroup2 cgroup2 "$1/mnt"; cd "$1/mnt/$2" && find . -depth -mindepth 1 -type d -exec rmdir {} + ; rmdir "$1/mnt/$2"'

export interface Booted {
  /** Words before a command of this machine that puts it into the network of the booted one. */
  readonly beside: readonly string[]
  /** Runs a shell script in the machine to its end. */
  run(line: string, input?: string): Promise<Ran>
  /** @throws Error with the output if the script fails */
  must(line: string, input?: string): Promise<string>
  /** Waits until a command succeeds. @throws Error with its last output after five minutes */
  until(line: string): Promise<void>
  /** Switches the machine off. */
  end(): Promise<void>
}

/** Only ends what hangs: after a kill, beside other programs, a start took more than a minute. */
const mostMs = 300_000

/**
 * Boots the root, which has systemd, and waits until all units of the start have run.
 * @param network shell commands that set up a network of its own. Default: that of this machine
 */
export async function bootRoot(root: string, network = ''): Promise<Booted> {
  const apart = network === '' ? [] : ['--net']
  const child = spawn(
    'unshare',
    [...apart, '--mount', 'bash', '-c', enter, 'bash', root, cgroupName, boot, network],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  const ended = new Promise<void>((resolve) =>
    child.once('close', () => {
      process.off('exit', kill)
      resolve()
    }),
  )
  const inside = (line: string, input?: string): Promise<Ran> => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`systemd has ended:\n${output}`)
    const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
    if (!first) return Promise.resolve({ code: 1, out: '', err: output })
    const shared = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--root', '--wd']
    const namespaces = network === '' ? shared : ['--net', ...shared]
    const clean = ['env', '-i', 'HOME=/root', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'sh', '-c']
    return attempt(
      'nsenter',
      ['--target', first, ...namespaces, '--', ...clean, line],
      input === undefined ? {} : { input },
    )
  }
  const booted: Booted = {
    beside: ['nsenter', `--net=/proc/${child.pid}/ns/net`, '--'],
    run: inside,
    async must(line, input) {
      const { code, out, err } = await inside(line, input)
      if (code !== 0) throw new Error(`${line}\nended with ${code}:\n${(out + err).slice(-4000)}`)
      return out + err
    },
    async until(line) {
      const end = performance.now() + mostMs
      for (;;) {
        const { code, out, err } = await inside(line)
        if (code === 0) return
        if (performance.now() > end) throw new Error(`${line}\nstill fails:\n${out}${err}${output}`)
        await sleep(300)
      }
    },
    async end() {
      kill()
      await ended
      // The processes of the machine end a moment after its process 1.
      for (let tries = 1; ; tries += 1) {
        const command = ['--mount', 'bash', '-c', sweep, 'bash', root, cgroupName]
        const { code, err } = await attempt('unshare', command)
        if (code === 0) return
        if (tries === 100) throw new Error(`The control group stays: ${err}`)
        await sleep(100)
      }
    },
  }
  try {
    await booted.until('test "$(systemctl is-system-running)" = running')
  } catch (error) {
    const failed = await booted.run(
      'systemctl --failed --no-pager; journalctl --no-pager | tail -40',
    )
    await booted.end()
    throw new Error(`The machine doesn't start:\n${failed.out}`, { cause: error })
  }
  return booted
}
