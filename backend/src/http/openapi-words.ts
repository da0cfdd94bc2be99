/**
 * What the API's documentation says beside the schemas: which objects have a name of their own, what each parameter and field means, and a body that
 * would be taken. The names of fields are one per thing in the whole API, so one table serves all calls.
 */
import type * as z from 'zod/mini'
import { AuditEntry } from '#contract/audit.ts'
import { Cluster, ClusterServer, NewCluster } from '#contract/clusters.ts'
import { Datacenter } from '#contract/datacenters.ts'
import { Extension, Image, NewImage } from '#contract/images.ts'
import { Arrival, JoinToken, NewJoinToken } from '#contract/join-tokens.ts'
import { Operation, Step } from '#contract/operations.ts'
import { Overview } from '#contract/overview.ts'
import { NewPatch, Patch, Preview } from '#contract/patches.ts'
import { Eligibility, Resources, Server, ServerEvent } from '#contract/servers.ts'
import { User } from '#contract/sessions.ts'
import { Subnet } from '#contract/subnet.ts'
import { AddressRun, NewSubnet } from '#contract/subnets.ts'
import { NewUser, Person, WaitlistEntry } from '#contract/users.ts'

/** Schemas that calls share: written once in the document, under `components`. */
export const objects: Readonly<Record<string, readonly [z.core.$ZodType, description: string]>> = {
  AddressRun: [AddressRun, 'Neighbouring addresses of a subnet that are in the same state.'],
  Arrival: [Arrival, 'What announced itself with a join token.'],
  AuditEntry: [AuditEntry, 'Who did what to what, when, from where, with what result. Each entry carries the hash of the one before.'],
  Cluster: [Cluster, 'Servers made into one Kubernetes.'],
  ClusterServer: [ClusterServer, 'A server and its part in a cluster that is to be made.'],
  Datacenter: [Datacenter, 'A site that servers, clusters and subnets stand in. Its code is made from country, city and index: PL-POZ-1.'],
  Eligibility: [Eligibility, 'A check that a server must pass to join a cluster, and what to do where it does not.'],
  Extension: [Extension, 'A Talos system extension that an image may carry.'],
  Image: [Image, 'A prepared image: its schematic, where its files are, and what boots it.'],
  JoinToken: [JoinToken, 'The right of a booting server to announce itself. The token itself is answered once, when it is made.'],
  NewCluster: [NewCluster, 'What a cluster is made of. Everything but name, datacenter and servers has a default.'],
  NewImage: [NewImage, 'What an image should hold.'],
  NewJoinToken: [NewJoinToken, 'How long, how often and for where a join token is good.'],
  NewPatch: [NewPatch, 'A patch to add: strategic-merge YAML for the machine configuration of one server.'],
  NewSubnet: [NewSubnet, 'A subnet to add. Its type is read from the CIDR.'],
  NewUser: [NewUser, 'A user to add.'],
  Operation: [Operation, 'Anything that outlives a request: its steps, how far it came, what it waits for.'],
  Overview: [Overview, 'What stands, what runs, what failed.'],
  Patch: [Patch, 'A layer of the machine configuration of one server.'],
  Person: [Person, 'A user of this installation.'],
  Preview: [Preview, 'What a patch would do: the merged configuration before and after, errors by line, and whether a reboot is needed.'],
  Resources: [Resources, 'The hardware of a server. Sizes in bytes, speeds in MHz; a field is left out where the server did not tell it.'],
  Server: [Server, 'A machine, called node in paths. `status` is what it is to us, `talos.stage` what Talos says it is doing.'],
  ServerEvent: [ServerEvent, 'Something that happened to a server.'],
  Step: [Step, 'One step of an operation.'],
  Subnet: [Subnet, 'Addresses that are routed to a datacenter. A workload subnet is the address pool of one cluster.'],
  User: [User, 'Who is signed in.'],
  WaitlistEntry: [WaitlistEntry, 'Somebody who asked to join.'],
}

/** Meaning of a parameter or of a field of a body, by its name; `call.name` where a call means another thing by it. */
export const meanings: Readonly<Record<string, string>> = {
  action: 'Only entries of this action, such as `cluster.created`.',
  actor: 'Only what this user did, by email.',
  address: 'Street address, for people.',
  addresses: 'IP addresses to ask, one by one.',
  arch: 'Processor architecture.',
  body: 'The patch: strategic-merge YAML, one document or several, at most 64 KiB.',
  certifications: 'Certificates that the site holds.',
  cidr: 'A network in CIDR notation, host bits zero.',
  'serverAdd.cidr': 'A network of at most 1024 addresses (an IPv4 /22), instead of `addresses`.',
  city_code: 'The three characters of the UN/LOCODE place.',
  city_name: 'City, as it is shown.',
  cluster: 'Only those of this cluster, by name or id.',
  columns: 'Shown columns by table.',
  company: 'Who the visitor works for; may be empty.',
  confirmed: 'Only servers whose hardware a person has confirmed (or has yet to).',
  country_code: 'ISO 3166-1 country, two letters.',
  csv: 'Text of a CSV file as the export writes it, at most 1 MiB.',
  datacenter: 'Only those in this datacenter, by code or id.',
  datacenter_id: 'Id of the datacenter; null for none, where a server may stand in none.',
  dry_run: 'True: only say what would be done, and all that is wrong.',
  eligible: 'Only servers that may (or may not) join a cluster now.',
  email: 'Email address; case does not matter.',
  endpoint: "Address or DNS name of the Kubernetes API. By default the first control plane's address.",
  exclude: 'Addresses that are never handed out: addresses, CIDRs and a-b ranges, one per line or with commas between.',
  extensions: 'Names of system extensions.',
  facility: 'Name of the building or of its operator.',
  fields: '`summary` leaves out disks and interfaces.',
  first_and_last: 'Hand out the network and broadcast address too: for space that is routed, not on a link.',
  follow: 'Go on until the caller hangs up.',
  force: 'Do it although the other side does not answer.',
  'clusterDelete.force': 'Forget the servers as they are instead of resetting them.',
  'serverRemove.force': 'Also a server of a cluster that never answers; its cluster forgets it.',
  'clusterSubnetsAssign.force': 'Take addresses from Services at once instead of draining.',
  format: 'Kind of file.',
  gateway: 'Address of the gateway; never handed out.',
  id: 'Id of the object.',
  index: 'Number in the code. Counted by city where it is not given.',
  install_disk: 'Device path that Talos is installed on. By default the smallest disk that is large enough.',
  interface: 'Link that carries the workload. By default the one that Steelyard reaches the server on.',
  keep_workload_disks: 'Do not wipe the workload disks that were named when the cluster was made.',
  kernel_args: 'More kernel arguments, one each.',
  kind: 'Only operations of this kind.',
  kubernetes_version: 'By default the newest that the Talos version supports.',
  labels: 'Keys and values for people, at most 20.',
  latitude: 'Degrees north. Both coordinates or neither.',
  lifetime_hours: 'How long it is good; null for no end.',
  longitude: 'Degrees east.',
  max_uses: 'How many servers (system UUIDs) it lets in; null for any number.',
  name: 'Lowercase letters, digits and single hyphens, 1 to 25 characters; unique.',
  'preferencesPut.name': 'Name of the view.',
  'userCreate.name': 'Name, as it is shown.',
  'waitlistJoin.name': "The visitor's name.",
  node_id: 'Id of a server.',
  nodeType: 'Only servers of this part in a cluster.',
  notes: 'Anything else, for people.',
  page: 'Page, counting from 1.',
  password: 'Password; never trimmed.',
  patch: 'A patch that is made on the server in the same transaction.',
  patch_id: 'The patch that is being edited: it is replaced in the merge.',
  patchId: 'Id of the patch, or `static-system` or `default-node`.',
  per_page: 'Items on a page.',
  pod_cidr: 'Network of the pods.',
  power_capacity_kw: 'Power of the site in kW.',
  purpose: '`workload`: handed out by one cluster. `management`: addresses of the servers themselves.',
  q: 'Text to search for.',
  rack_capacity: 'Racks that the site holds.',
  reachable: 'Only servers that answer (or do not).',
  refresh_token: 'The refresh token of the session.',
  role: 'What the user may do.',
  'clusterCreate.role': 'Part of the server in the cluster.',
  'clusterPreview.role': 'Part of the server in the cluster.',
  rotate: 'True: also answer a replacement of the refresh token; the old one is then spent.',
  secureboot: 'Sign for SecureBoot.',
  search: 'The search of the list, as it stands in the URL.',
  serial: 'Serial number of the machine, as it was shown.',
  servers: 'The servers and their parts. An odd number of control planes, 7 at most.',
  service: 'Talos service whose log is wanted.',
  service_cidr: 'Network of the services.',
  sidebar: 'How the sidebar is shown.',
  sort: 'Column to sort by; descending with a leading minus.',
  status: 'Only those of this status.',
  subnet_ids: 'Exactly the subnets that the cluster should have.',
  tail: 'How many of the last lines.',
  talos_version: 'By default the newest that is supported.',
  'imageCreate.talos_version': 'Version of Talos on the image.',
  target: 'Only what is about this object, by id.',
  theme: 'Colours of the console.',
  tier: 'Tier that the provider declares (Uptime Institute); null where none is.',
  token_id: 'Join token that the servers announce themselves with; null: they are added by address.',
  type: 'Only subnets of this type.',
  uuid: 'System UUID of the machine, as it was shown.',
  version: 'Talos version.',
  views: 'Saved views by table.',
  virtual_ip: 'True: the endpoint is an unused address that the control planes hold themselves.',
  vlan_id: 'VLAN of the servers’ links; null for none.',
  weight: 'Order of merging: the higher, the later.',
  workload_disks: 'Device paths that are kept for the workload.',
}

const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const patch = { name: 'more-connections', weight: 500, labels: { team: 'edge' }, body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n' }
const datacenter = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: 3, certifications: ['ISO 27001'], latitude: 52.41, longitude: 16.93 }
const cluster = {
  name: 'poz-edge-01',
  datacenter_id: id(1),
  servers: [
    { node_id: id(2), role: 'control_plane' },
    { node_id: id(3), role: 'worker', workload_disks: ['/dev/nvme1n1'], patch },
  ],
}
const subnets = { subnet_ids: [id(4)] }

/** A body that each call takes, as far as the ids in it name something. */
export const bodies: Readonly<Record<string, unknown>> = {
  authorize: { email: 'ops@example.com', password: 'correct horse battery' },
  authorizeLogout: { refresh_token: 'the refresh token' },
  authorizeRefresh: { refresh_token: 'the refresh token', rotate: true },
  clusterCreate: cluster,
  clusterPreview: cluster,
  clusterServerReplace: { node_id: id(5) },
  clusterSubnetsAssign: subnets,
  clusterSubnetsPreview: subnets,
  datacenterCreate: datacenter,
  datacenterUpdate: { tier: 4, certifications: ['ISO 27001', 'SOC 2 Type II'] },
  imageCreate: { talos_version: 'v1.13.9', extensions: ['siderolabs/amd-ucode'], format: 'pxe', token_id: id(6) },
  joinTokenCreate: { name: 'rack-12', datacenter_id: id(1), lifetime_hours: 24, max_uses: 20 },
  patchCreate: patch,
  patchPreview: { weight: patch.weight, body: patch.body },
  patchUpdate: { weight: 600 },
  preferencesPut: { theme: 'dark', columns: { servers: ['name', 'status'] } },
  serverAdd: { addresses: ['10.1.2.11', '10.1.2.12'], datacenter_id: id(1) },
  serverConfirm: { uuid: '4c4c4544-0046-4e10-8051-b4c04f573133', serial: 'S987168X4391365' },
  serverReset: { keep_workload_disks: true },
  serverUpdate: { name: 'calm-heron-204' },
  subnetCreate: { name: 'edge-a', datacenter_id: id(1), cidr: '203.0.113.0/26', gateway: '203.0.113.1', exclude: ['203.0.113.2-203.0.113.9'] },
  subnetImport: { csv: 'name,cidr,datacenter\nedge-a,203.0.113.0/26,PL-POZ-1\n', dry_run: true },
  subnetUpdate: { exclude: ['203.0.113.2-203.0.113.15'] },
  userCreate: { email: 'night@example.com', name: 'Night shift', role: 'operator', password: 'twelve or more' },
  waitlistJoin: { name: 'Ada', company: 'Example Ltd', email: 'ada@example.com' },
}
