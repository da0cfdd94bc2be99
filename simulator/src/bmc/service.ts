/** The service itself: its root, the manager, firmware, tasks; and all resources together. */
import { createHash } from 'node:crypto'
import type { Bmc } from './bmc.ts'
import { addChassis } from './chassis.ts'
import { parameterOf, parameters } from './fields.ts'
import { addLogs, instant } from './logs.ts'
import { addMedia } from './media.ts'
import { addAccounts, addSessions } from './people.ts'
import type { Json } from './refusal.ts'
import { addSystems } from './system.ts'
import type { Task } from './tasks.ts'
import { addCollection, document, HEALTHY, link, NO_CONTENT, ROOT, type Tree } from './tree.ts'

/** UUID of the service, which is not the server's. */
const serviceUuid = (bmc: Bmc): string => {
  const hex = createHash('sha256')
    .update(`${bmc.machine.seed}/bmc/${bmc.machine.plan.index}`)
    .digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const ownMac = (bmc: Bmc): string => {
  const hex = serviceUuid(bmc).replaceAll('-', '').slice(-6)
  return `02:5d:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`.toUpperCase()
}

const rootDocument = (bmc: Bmc): Json => {
  const { vendor, product, hasSessions, expands } = bmc.personality
  return document(`${ROOT}/`, 'ServiceRoot.v1_21_0.ServiceRoot', 'RootService', 'Simulated BMC', {
    RedfishVersion: '1.21.0',
    UUID: serviceUuid(bmc),
    Vendor: vendor,
    Product: product,
    ProtocolFeaturesSupported: {
      ExcerptQuery: false,
      ExpandQuery: expands
        ? { ExpandAll: true, Levels: true, Links: true, NoLinks: true, MaxLevels: 2 }
        : { ExpandAll: false, Levels: false, Links: false, NoLinks: false },
      FilterQuery: false,
      OnlyMemberQuery: false,
      SelectQuery: false,
      TopSkipQuery: false,
    },
    Systems: link(`${ROOT}/Systems`),
    Chassis: link(`${ROOT}/Chassis`),
    Managers: link(`${ROOT}/Managers`),
    AccountService: link(`${ROOT}/AccountService`),
    UpdateService: link(`${ROOT}/UpdateService`),
    Tasks: link(`${ROOT}/TaskService`),
    ...(hasSessions && { SessionService: link(`${ROOT}/SessionService`) }),
    Links: hasSessions ? { Sessions: link(`${ROOT}/SessionService/Sessions`) } : {},
    Oem: { Simulated: { '@odata.type': '#Simulated.v1_0_0.Simulated', IsSimulated: true } },
  })
}

const MANAGER_RESETS = ['GracefulRestart', 'ForceRestart'] as const

const addManager = (tree: Tree, bmc: Bmc): void => {
  const { ids, product, firmware, vendor, mediaUnder } = bmc.personality
  const collection = `${ROOT}/Managers`
  const path = `${collection}/${ids.manager}`
  const interfaces = `${path}/EthernetInterfaces`
  const reset = `${path}/Actions/Manager.Reset`
  addCollection(tree, collection, 'ManagerCollection', () => [path])
  tree.set(path, {
    read: () =>
      document(path, 'Manager.v1_25_0.Manager', ids.manager, 'Manager', {
        ManagerType: 'BMC',
        Manufacturer: vendor,
        Model: product,
        FirmwareVersion: firmware,
        UUID: serviceUuid(bmc),
        ServiceEntryPointUUID: serviceUuid(bmc),
        DateTime: instant(bmc.now()),
        DateTimeLocalOffset: '+00:00',
        PowerState: 'On',
        Status: HEALTHY,
        EthernetInterfaces: link(interfaces),
        NetworkProtocol: link(`${path}/NetworkProtocol`),
        LogServices: link(`${path}/LogServices`),
        ...(mediaUnder === 'manager' && { VirtualMedia: link(`${path}/VirtualMedia`) }),
        Links: {
          ManagerForServers: [link(`${ROOT}/Systems/${ids.system}`)],
          ManagerForChassis: [link(`${ROOT}/Chassis/${ids.chassis}`)],
        },
        Actions: {
          '#Manager.Reset': {
            target: reset,
            'ResetType@Redfish.AllowableValues': MANAGER_RESETS,
          },
        },
      }),
  })
  tree.set(reset, {
    post: ({ body }) => {
      const action = 'Manager.Reset'
      parameterOf(parameters(body, action, ['ResetType']), action, 'ResetType', MANAGER_RESETS)
      bmc.reset()
      return NO_CONTENT
    },
  })
  addCollection(tree, interfaces, 'EthernetInterfaceCollection', () => [`${interfaces}/1`])
  tree.set(`${interfaces}/1`, {
    read: () =>
      document(
        `${interfaces}/1`,
        'EthernetInterface.v1_12_5.EthernetInterface',
        '1',
        'Management interface',
        {
          MACAddress: ownMac(bmc),
          PermanentMACAddress: ownMac(bmc),
          InterfaceEnabled: true,
          LinkStatus: 'LinkUp',
          SpeedMbps: 1000,
          IPv4Addresses: [
            {
              Address: bmc.address,
              SubnetMask: '255.255.0.0',
              AddressOrigin: 'DHCP',
              Gateway: null,
            },
          ],
          Status: HEALTHY,
        },
      ),
  })
  tree.set(`${path}/NetworkProtocol`, {
    read: () =>
      document(
        `${path}/NetworkProtocol`,
        'ManagerNetworkProtocol.v1_13_0.ManagerNetworkProtocol',
        'NetworkProtocol',
        'Network protocols',
        {
          HTTP: { ProtocolEnabled: false, Port: null },
          HTTPS: { ProtocolEnabled: true, Port: bmc.port.port },
          SSDP: { ProtocolEnabled: false },
          IPMI: { ProtocolEnabled: false, Port: null },
          SSH: { ProtocolEnabled: false, Port: null },
          Status: HEALTHY,
        },
      ),
  })
  addLogs(tree, bmc, path, 'manager')
  if (mediaUnder === 'manager') addMedia(tree, bmc, path)
}

const addFirmware = (tree: Tree, bmc: Bmc): void => {
  const service = `${ROOT}/UpdateService`
  const inventory = `${service}/FirmwareInventory`
  const { hardware } = bmc.machine
  const disks = [...new Set(hardware.disks.map(({ model }) => model))]
  const nics = [...new Map(hardware.links.map(({ nic }) => [nic.product, nic])).values()]
  const items = [
    { id: 'BMC', name: 'BMC', version: bmc.personality.firmware },
    { id: 'BIOS', name: 'BIOS', version: '2.4.1' },
    ...nics.map((nic, at) => ({ id: `NIC${at + 1}`, name: nic.product, version: nic.firmware })),
    ...disks.map((name, at) => ({ id: `Disk${at + 1}`, name, version: `SIM${at + 1}.02` })),
    { id: 'PSU', name: 'Power supplies', version: '1.04' },
  ]
  tree.set(service, {
    read: () =>
      document(service, 'UpdateService.v1_17_1.UpdateService', 'UpdateService', 'Updates', {
        ServiceEnabled: false,
        Status: HEALTHY,
        FirmwareInventory: link(inventory),
      }),
  })
  addCollection(tree, inventory, 'SoftwareInventoryCollection', () =>
    items.map(({ id }) => `${inventory}/${id}`),
  )
  for (const { id, name, version } of items)
    tree.set(`${inventory}/${id}`, {
      read: () =>
        document(`${inventory}/${id}`, 'SoftwareInventory.v1_14_0.SoftwareInventory', id, name, {
          Version: version,
          Updateable: false,
          Status: HEALTHY,
        }),
    })
}

const addTasks = (tree: Tree, bmc: Bmc): void => {
  const service = `${ROOT}/TaskService`
  const tasks = `${service}/Tasks`
  tree.set(service, {
    read: () =>
      document(service, 'TaskService.v1_3_0.TaskService', 'TaskService', 'Tasks', {
        ServiceEnabled: true,
        CompletedTaskOverWritePolicy: 'Oldest',
        DateTime: instant(bmc.now()),
        Status: HEALTHY,
        Tasks: link(tasks),
      }),
  })
  addCollection(tree, tasks, 'TaskCollection', () =>
    bmc.tasks.all.map(({ id }) => `${tasks}/${id}`),
  )
  const taskDocument = ({ id, name, startedAt, endedAt }: Task): Json =>
    document(`${tasks}/${id}`, 'Task.v1_7_4.Task', id, name, {
      TaskState: endedAt === null ? 'Running' : 'Completed',
      TaskStatus: 'OK',
      PercentComplete: endedAt === null ? 50 : 100,
      StartTime: instant(startedAt),
      ...(endedAt === null
        ? { TaskMonitor: `${service}/TaskMonitors/${id}` }
        : { EndTime: instant(endedAt) }),
      Messages: [],
    })
  for (const task of bmc.tasks.all) {
    tree.set(`${tasks}/${task.id}`, { read: () => taskDocument(task) })
    tree.set(`${service}/TaskMonitors/${task.id}`, {
      read: () => taskDocument(task),
      status: () => (task.endedAt === null ? 202 : 200),
    })
  }
}

/** Every resource of a BMC, as it is now. The documents are made when they are read. */
export const treeOf = (bmc: Bmc): Tree => {
  const tree: Tree = new Map()
  tree.set('/redfish', {
    read: () => {
      return { v1: `${ROOT}/` }
    },
  })
  tree.set(ROOT, { read: () => rootDocument(bmc) })
  tree.set(`${ROOT}/odata`, {
    read: () => {
      const { Links: _, ...services } = rootDocument(bmc)
      const linked = Object.entries(services).flatMap(([name, value]) =>
        typeof value === 'object' && value !== null && '@odata.id' in value
          ? [{ name, kind: 'Singleton', url: value['@odata.id'] }]
          : [],
      )
      return {
        '@odata.context': `${ROOT}/$metadata`,
        value: [{ name: 'Service', kind: 'Singleton', url: `${ROOT}/` }, ...linked],
      }
    },
  })
  addSessions(tree, bmc)
  addAccounts(tree, bmc)
  addSystems(tree, bmc)
  addChassis(tree, bmc)
  addManager(tree, bmc)
  addFirmware(tree, bmc)
  addTasks(tree, bmc)
  return tree
}
