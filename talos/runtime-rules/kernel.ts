/** Kernel arguments of an installation, kernel modules, and proxies in the environment. */
import type { Report } from '../config/report.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

/** Variables that name a proxy (Go `golang.org/x/net/http/httpproxy`, FromEnvironment). */
const proxyNames = new Set(['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'])

function* variables(config: Configuration): Generator<{
  document: Report
  path: string[]
  key: string
}> {
  for (const { path, key } of config.main.entries('machine', 'env'))
    yield { document: config.main, path, key }
  for (const document of config.of('EnvironmentConfig'))
    for (const { path, key } of document.entries('variables')) yield { document, path, key }
}

/** Whether Go's client takes the text as a proxy: a URL, or an address without a scheme. */
function isProxy(text: string): boolean {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  return /^(https?|socks5h?):/i.test(url) && URL.canParse(url) && !/\s/.test(text)
}

/**
 * Why an argument must not be in every boot of an installed system, or null (Talos
 * `pkg/machinery/constants`; `v1alpha1_sequencer.go`, Boot).
 */
function argumentProblem(text: string): string | null {
  // The kernel removes quotes around an argument.
  const [key = '', value = ''] = text.replaceAll('"', '').split(/=(.*)/s)
  if (text.startsWith('-')) return null
  if (key === 'talos.experimental.wipe')
    return 'With talos.experimental.wipe the server wipes its disk at each boot'
  if (key === 'talos.halt_if_installed' && /^(?:1|t|true)$/i.test(value))
    return 'With talos.halt_if_installed the server stops at each boot after its installation'
  if (key === 'talos.platform' || key === 'talos.config')
    return `The argument ${key} decides where a server gets its configuration, which is chosen with the cluster`
  if (key !== 'vlan') return null
  // `vlan=eth0.100:eth0` (`internal/app/machined/pkg/controllers/network/cmdline.go`, parseVLANSettings).
  const id = /^(?:[^.:]+\.|vlan)(\d+):[^:]+$/.exec(value)?.[1]
  return id === undefined || Number(id) < 1 || Number(id) > 4094
    ? `${quoted(text)} is no VLAN: it is written as vlan=eth0.100:eth0, with an id from 1 to 4094`
    : null
}

export const kernelRules: readonly RuntimeRule[] = [
  {
    id: 'kernel-argument',
    source:
      'Talos pkg/machinery/constants; internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer.go, Boot: arguments of an installed system act at each boot',
    level: 'refuse',
    *find({ main }) {
      for (const { path, text } of main.texts('machine', 'install', 'extraKernelArgs')) {
        const problem = argumentProblem(text)
        if (problem !== null) yield { document: main, path, sentence: problem }
      }
    },
  },
  {
    id: 'kernel-module',
    source:
      'Talos internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go: an error that is repeated and logged; after it no module is reported as loaded',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items('machine', 'kernel', 'modules')) {
        const name = main.text(...path, 'name')
        if (!/^[A-Za-z0-9_-]+$/.test(name))
          yield {
            document: main,
            path: [...path, 'name'],
            sentence: `${quoted(name)} is not the name of a kernel module, such as nvme_tcp: no path, no .ko, no spaces`,
          }
      }
    },
  },
  {
    id: 'pci-device',
    source:
      'Talos internal/app/machined/pkg/controllers/hardware/pci_driver_rebind.go writes to /sys/bus/pci/devices/ADDRESS, and its first error stops the others; Linux drivers/pci/probe.c names devices "%04x:%02x:%02x.%d"',
    level: 'refuse',
    *find(config) {
      for (const document of config.of('PCIDriverRebindConfig')) {
        const name = document.text('name')
        if (!/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(name))
          yield {
            document,
            path: ['name'],
            sentence: `${quoted(name)} is no address of a PCI device such as 0000:04:00.0, with its domain and in lower case, so no device gets another driver`,
          }
      }
    },
  },
  {
    id: 'proxy-address',
    source:
      'Go golang.org/x/net/http/httpproxy, parseProxy: "invalid proxy address"; every image comes through the proxy',
    level: 'refuse',
    *find(config) {
      for (const { document, path, key } of variables(config)) {
        const text = document.text(...path)
        if (proxyNames.has(key) && text !== '' && !isProxy(text))
          yield {
            document,
            path,
            sentence: `The proxy in ${key} can’t be used: it must be a URL such as http://proxy.example.org:3128`,
          }
      }
    },
  },
]
