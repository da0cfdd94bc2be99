import { describe, expect, test } from 'vitest'
import { type Boot, kernelCommandLine } from './command-line.ts'

const boot: Boot = { talosVersion: 'v1.13.9', arch: 'amd64', secureboot: false }
const usual =
  'talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never'

describe('a kernel command line', () => {
  test('the default kernel arguments are those of Talos', () => {
    expect(kernelCommandLine(boot, [])).toBe(usual)
    expect(kernelCommandLine({ ...boot, secureboot: true }, [])).toBe(
      `${usual} lockdown=confidentiality`,
    )
    expect(kernelCommandLine({ ...boot, arch: 'arm64' }, [])).toBe(
      usual.replace('console=tty0', 'console=ttyAMA0 console=tty0'),
    )
    expect(kernelCommandLine({ ...boot, talosVersion: 'v1.12.11' }, [])).toBe(
      usual.replace(' proc_mem.force_override=never', ''),
    )
  })

  test.each([
    [['panic=10', 'quiet'], `${usual} panic=10 quiet`],
    [['console=ttyS0,115200'], usual.replace('console=tty0', 'console=ttyS0,115200')],
    [
      ['console=tty0', 'console=ttyS0'],
      usual.replace('console=tty0', 'console=tty0 console=ttyS0'),
    ],
    [
      ['-slab_nomerge', '-selinux', '-nothing'],
      usual.replace(' slab_nomerge', '').replace(' selinux=1', ''),
    ],
    [['-selinux=1', '-pti=off', '-nothing=1'], usual.replace(' selinux=1', '')],
    [['selinux=0'], usual.replace('selinux=1', 'selinux=1 selinux=0')],
    [['a=1', 'b', 'a=2', 'c='], `${usual} a=1 a=2 b c`],
    [['-'], `${usual} -`],
    [
      ['talos.config=https://example.com/?a=b&c=${uuid}'],
      `${usual} talos.config=https://example.com/?a=b&c=\${uuid}`,
    ],
  ])('%j changes the kernel command line as Talos’s imager does', (extra, line) => {
    expect(kernelCommandLine(boot, extra)).toBe(line)
  })
})
