import * as runtime from '#talos/proto/gen/definitions/runtime_pb.ts'
import { LayerSchema } from '#talos/proto/gen/definitions/extensions_pb.ts'
import {
  RuntimeMachineStage,
  RuntimeSELinuxState,
  RuntimeUnattendedInstallPhase as Phase,
} from '#talos/proto/gen/definitions/enums_pb.ts'
import {
  MachineConfigSpecSchema,
  MachineType,
  MachineTypeSpecSchema,
} from '#talos/proto/gen/definitions/config_pb.ts'
import { ServiceSpecSchema } from '#talos/proto/gen/definitions/v1alpha1_pb.ts'
import { StatusSpecSchema as TimeStatusSpecSchema } from '#talos/proto/gen/definitions/time_pb.ts'
import { carriedExtensions } from '../factory/catalogue.ts'
import type { Machine } from '../machine/machine.ts'
import { stageWord } from '../machine/stage.ts'
import { item, kind, type Item, type Kind } from './resource.ts'

const machineStatus = ({ stage }: Machine): Item[] => {
  const unmetConditions = stage.unmet.map(({ name, reason }) => ({ name, reason }))
  return [
    item(
      'machine',
      runtime.MachineStatusSpecSchema,
      {
        stage: RuntimeMachineStage[`MACHINE_STAGE_${stageWord(stage.stage)}`],
        status: { ready: stage.ready, unmetConditions },
      },
      { stage: stage.stage },
    ),
  ]
}

/** Extensions of the image, from its schematic if the image factory has the schematic. */
const extensions = (machine: Machine): Item[] => {
  const schematic = machine.world.schematic(machine.schematic)
  return [
    ...carriedExtensions(schematic?.extensions ?? [], machine.talosVersion).map(
      ({ name, version, description }, order) =>
        layer(`${order}.${name}`, {
          name,
          version,
          author: 'Sidero Labs',
          description,
          extraInfo: '',
        }),
    ),
    layer('', {
      name: 'schematic',
      version: machine.schematic,
      author: 'Image Factory',
      description:
        'Virtual extension which specifies the schematic of the image built with Image Factory.',
      extraInfo: schematic?.text ?? '',
    }),
    layer('modules.dep', {
      name: 'modules.dep',
      version: '6.18.5-talos',
      author: 'Talos Machinery',
      description: 'Combined modules.dep for all extensions',
      extraInfo: '',
    }),
  ]
}

const layer = (
  image: string,
  metadata: {
    name: string
    version: string
    author: string
    description: string
    extraInfo: string
  },
): Item =>
  item(image === '' ? 'schematic' : image, LayerSchema, {
    image,
    metadata: { ...metadata, compatibility: { talos: { version: '' } } },
  })

const platform = (machine: Machine): Item[] => {
  const spec = {
    platform: 'metal',
    hostname: '',
    region: machine.plan.place.countryCode.toLowerCase(),
    zone: machine.plan.place.code,
    instanceType: 'simulated',
    instanceId: machine.plan.name,
    providerId: `simulated://${machine.plan.name}`,
    spot: false,
  }
  return [item('platformmetadata', runtime.PlatformMetadataSpecSchema, spec)]
}

const configs = (machine: Machine): Item[] => {
  const active = machine.config?.text
  const stored = machine.unsaved ?? machine.disk.state.config
  return [
    ...(active === undefined
      ? []
      : [{ ...config('v1alpha1', active), updatedAt: machine.config!.since }]),
    ...(stored === null ? [] : [config('persistent', stored)]),
  ]
}

const config = (id: string, text: string): Item => ({
  ...item(id, MachineConfigSpecSchema, { yamlMarshalled: new TextEncoder().encode(text) }),
  yaml: () => text,
})

const machineType = (machine: Machine): Item[] => {
  const role = machine.config?.node?.role
  const type =
    role === 'controlplane'
      ? MachineType.CONTROL_PLANE
      : role === 'worker'
        ? MachineType.WORKER
        : MachineType.UNKNOWN
  const word = role ?? 'unknown'
  return [
    {
      ...item('machine-type', MachineTypeSpecSchema, { machineType: type }),
      yaml: () => `${word}\n`,
    },
  ]
}

const PHASES = {
  pending: Phase.UNATTENDED_INSTALL_PHASE_PENDING,
  installing: Phase.UNATTENDED_INSTALL_PHASE_INSTALLING,
  installed: Phase.UNATTENDED_INSTALL_PHASE_INSTALLED,
  'waiting-for-reboot': Phase.UNATTENDED_INSTALL_PHASE_WAITING_FOR_REBOOT,
  failed: Phase.UNATTENDED_INSTALL_PHASE_FAILED,
}

const unattendedInstall = ({ unattendedInstall: status, config }: Machine): Item[] => {
  if (!status) return []
  const { phase, error, version } = status
  const image = config?.node?.install?.image ?? ''
  const spec = { image, phase: PHASES[phase], error }
  return [
    {
      ...item('unattended-install', runtime.UnattendedInstallStatusSpecSchema, spec, { phase }),
      version,
    },
  ]
}

export const RUNTIME: Kind[] = [
  kind('MachineStatuses.runtime.talos.dev', machineStatus),
  // Talos: controllers/runtime/boot_id.go, since 1.14.
  kind('BootIDs.runtime.talos.dev', ({ bootId }) => [
    item('boot-id', runtime.BootIDSpecSchema, { bootId }),
  ]),
  kind('Versions.runtime.talos.dev', (machine) => [
    item('version', runtime.VersionSpecSchema, { version: machine.talosVersion, name: 'Talos' }),
  ]),
  kind('SecurityStates.talos.dev', ({ isSecureBoot }) => [
    item(
      'securitystate',
      runtime.SecurityStateSpecSchema,
      {
        secureBoot: isSecureBoot,
        seLinuxState: RuntimeSELinuxState.SE_LINUX_STATE_PERMISSIVE,
        bootedWithUki: true,
        moduleSignatureEnforced: true,
      },
      {
        uKISigningKeyFingerprint: '',
        pCRSigningKeyFingerprint: '',
        seLinuxState: 'permissive',
      },
    ),
  ]),
  kind('ExtensionStatuses.runtime.talos.dev', extensions),
  kind('KernelCmdlines.runtime.talos.dev', (machine) => [
    item('cmdline', runtime.KernelCmdlineSpecSchema, { cmdline: machine.kernelCommandLine }),
  ]),
  kind('PlatformMetadatas.talos.dev', platform),
  kind('MetaKeys.runtime.talos.dev', (machine) =>
    Object.entries(machine.disk.state.meta).map(([key, value]) =>
      item(key, runtime.MetaKeySpecSchema, { value }),
    ),
  ),
  kind('UnattendedInstallStatuses.runtime.talos.dev', unattendedInstall),
  kind('MachineConfigs.config.talos.dev', configs),
  kind('MachineTypes.config.talos.dev', machineType),
  kind('Services.v1alpha1.talos.dev', (machine) =>
    machine.services.all
      .filter(({ state }) => state === 'Running')
      .map(({ id, healthy }) =>
        item(id, ServiceSpecSchema, {
          running: true,
          healthy: healthy === true,
          unknown: healthy === null,
        }),
      ),
  ),
  kind('TimeStatuses.v1alpha1.talos.dev', ({ isTimeSynced, timeEpoch }) => [
    item('node', TimeStatusSpecSchema, {
      synced: isTimeSynced,
      epoch: BigInt(timeEpoch),
      syncDisabled: false,
    }),
  ]),
]
