/**
 * Documents of the machine itself since Talos 1.14: installation, discovery, kernel, files and
 * containers (Talos `pkg/machinery/config/types`, folders `runtime`, `cluster`, `cri`, `container`).
 */
import type { Documents } from './documents.ts'
import * as t from './shape.ts'

const since = '1.14'
const name = t.always(t.text('Name'))
const options = t.texts('Such as ro')
const destination = t.always(t.text('Path inside the container'))

export const systemDocuments: Documents = {
  UnattendedInstallConfig: {
    about: 'How Talos is installed; without it a machine boots without installing',
    since,
    fields: {
      reboot: t.flag('Reboot after the installation; if unset, only with an image'),
      installer: t.always(
        t.inPlace(
          t.object({
            image: t.text(
              'Installer image; it must carry the same schematic as the image that the server booted',
            ),
          }),
        ),
      ),
      provisioning: t.always(
        t.inPlace(
          t.object(
            {
              diskSelector: t.inPlace(
                t.object({
                  match: t.text(
                    'CEL expression over disk; the first of several matching disks is taken',
                  ),
                }),
              ),
              wipe: t.flag('Wipe the disk before the installation; on unless it is switched off'),
            },
            'Which disk',
          ),
        ),
      ),
    },
  },
  DiscoveryServiceConfig: {
    about: 'A service by which servers of the cluster find each other',
    since,
    fields: { name, endpoint: t.always(t.text('URL of http, https or grpc')) },
  },
  DiscoveryIdentityConfig: {
    about: 'What the cluster is to discovery services',
    since,
    fields: {
      clusterID: t.always(t.text('Names the cluster; never changes')),
      clusterSecret: t.always(t.secret('Seals what the services are told')),
    },
  },
  SysctlConfig: {
    about: 'Kernel parameters',
    since,
    fields: { params: t.always(t.map(t.text(), 'Value of each parameter')) },
  },
  SysfsConfig: {
    about: 'Values under /sys',
    since,
    fields: { params: t.always(t.map(t.text(), 'Value of each path')) },
  },
  KernelModuleConfig: {
    about: 'A kernel module to load',
    since,
    fields: { name: t.always(t.text('Name of the module')), parameters: t.texts() },
  },
  UdevRulesConfig: {
    about: 'Rules of udev',
    since,
    fields: { rules: t.texts() },
  },
  EtcFileConfig: {
    about: 'A file below /etc',
    since,
    fields: {
      name: t.always(t.text('Path below /etc, such as nfsmount.conf')),
      mode: t.always({ ...t.integer('Octal, such as 0o644'), max: 4_294_967_295, octal: true }),
      contents: t.always(t.sensitive(t.text())),
    },
  },
  SecurityProfileConfig: {
    about: 'Protection of the server from its workloads',
    since,
    fields: { workloadIsolation: t.flag() },
  },
  ImageCacheConfig: {
    about: 'Images that the server carries with it',
    since,
    fields: { local: t.always(t.inPlace(t.object({ enabled: t.flag() }))) },
  },
  CRICustomizationConfig: {
    about: 'A part of containerd’s configuration',
    since,
    fields: { name, content: t.always(t.sensitive(t.text('TOML'))) },
  },
  CRIBaseRuntimeSpecConfig: {
    about: 'Changes to the OCI specification of every container',
    since,
    fields: { overrides: t.sensitive({ ...t.free('A patch replaces them'), replace: true }) },
  },
  ContainerConfig: {
    about: 'A container that Talos runs itself, outside Kubernetes',
    since,
    fields: {
      name,
      image: t.always(t.text()),
      entrypoint: t.sensitive(t.texts()),
      args: t.sensitive(t.texts()),
      workingDir: t.text(),
      runAs: t.object({ uid: t.optionalInteger(), gid: t.optionalInteger() }),
      environment: t.sensitive(t.texts('Such as NAME=value'), 'variables'),
      mounts: t.list(
        t.object({
          userVolume: t.object({ name: t.always(t.text()), destination, options }),
          tmpfs: t.object({ destination, size: t.text(), options }),
          hostPath: t.object({ source: t.always(t.text()), destination, options }),
        }),
      ),
      security: t.object({
        profile: t.plainChoice(['restricted', 'privileged']),
        capabilities: t.object({ add: t.texts(), drop: t.texts() }),
        machinedAccess: t.flag('May reach Talos’s own services'),
      }),
      network: t.object({ mode: t.plainChoice(['none', 'host']) }),
      resources: t.object({
        limits: t.object({ cpu: t.text('Such as 1500m'), memory: t.text('Such as 512MiB') }),
      }),
      dependsOn: t.object({
        paths: t.texts(),
        networks: t.list(t.plainChoice(['addresses', 'connectivity', 'hostname', 'etcfiles'])),
        time: t.flag(),
        containers: t.texts('Names of other ContainerConfig documents'),
      }),
    },
  },
}
