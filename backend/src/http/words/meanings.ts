/**
 * Descriptions of parameters and body fields. A field name means the same in the whole API, so one
 * table serves all calls.
 */

/** Descriptions of fields for `clusterPlan` and `clusterChange`, whose bodies contain a change. */
const forChanges = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, text]) => [
      [`clusterPlan.${name}`, text],
      [`clusterChange.${name}`, text],
    ]),
  )

/**
 * Description of a parameter or body field by its name; by `call.name` if the meaning differs in
 * one call.
 */
export const meanings: Readonly<Record<string, string>> = {
  access_key_id: 'Id of the access key of the S3 service.',
  address: 'Street address.',
  'offerAccessAddressSet.address':
    'Address with the checksum of EIP-55, such as the `chainAddress` of a cluster.',
  amount: 'Decimal number as text, at most 12 digits before and 8 after the point.',
  addresses: 'IP addresses to contact.',
  at_hour: 'Hour of the day, UTC, of the first snapshot; the others follow at the interval.',
  arch: 'Processor architecture.',
  basis: 'What an hour at this price pays for: one compute unit, one server, or the whole cluster.',
  body: 'The patch: strategic-merge YAML, one document or several, at most 64 KiB.',
  bucket: 'Name of the bucket, which must exist.',
  certifications: 'Certifications that the site has.',
  cidr: 'A network in CIDR notation, host bits zero.',
  'clusterImport.addresses':
    'Addresses of control planes. Default: the endpoints of the talosconfig.',
  'clusterImportPreview.addresses':
    'Addresses of control planes. Default: the endpoints of the talosconfig.',
  challenge_id: 'Id of the challenge.',
  'clusterImport.name': 'Name of the cluster in Steelyard. Default: the name that the cluster has.',
  'clusterImportPreview.name':
    'Name of the cluster in Steelyard. Default: the name that the cluster has.',
  'clusterImport.replace':
    'Objects of `existing` in the preview that are replaced. Default: none, all are kept.',
  'clusterImport.confirm': 'The name of the cluster, which confirms `replace`.',
  'clusterKeyReplace.address':
    'Address of the key that is replaced, as `kept` of the cluster shows it; null if it has none.',
  'clusterKeyReplace.confirm': 'The name of the cluster.',
  'clusterImport.seen':
    'The `seen` value of the preview. The request is refused if the cluster or its machines have changed since.',
  canary: 'Id of the server that is upgraded first.',
  change: 'The change: its `kind` and the fields of that kind.',
  stage: 'True: each server installs the new version during its next boot.',
  node_ids: 'Ids of the servers that are changed, in the order of the change. Default: all.',
  at: 'Time before which the change does not begin.',
  in_window:
    "True: the work on a server starts only while the cluster's maintenance window is open.",
  kind: 'What is changed.',
  by: 'The new server, which gets the role of the replaced one.',
  ...forChanges({
    force:
      'True: remove a server that does not answer without resetting it. It is reset as soon as it answers.',
    role: 'Role of the server in the cluster.',
    servers: 'The servers that are added, are removed, or change their role.',
  }),
  start: 'When the change begins. Default: at once.',
  what: 'What to rotate. Talos cannot replace `service_account`, `encryption_keys` and `etcd_ca`; the plan says why.',
  window: 'The maintenance window; null removes it.',
  'clusterChange.seen':
    'The `seen` value of the plan. The request is refused if the plan has changed since.',
  'serverAdd.cidr': 'A network of at most 1024 addresses (an IPv4 /22), instead of `addresses`.',
  city_code: 'The three characters of the UN/LOCODE place.',
  city_name: 'Displayed name of the city.',
  cluster: 'Only objects of this cluster, by name or id.',
  cluster_id: 'Id of the cluster that the offer sells. A cluster has at most one offer.',
  code: 'Of an account with a second factor: a code of the authenticator app, or a recovery code.',
  'authorizeProviderFinish.code': 'The authorization code.',
  'sessionProve.code': 'The authorization code.',
  'totpConfirm.code': 'The code that the new app shows.',
  columns: 'Displayed columns of each table.',
  company: 'Company of the visitor; may be empty.',
  confirmed_disks:
    'Confirms that these disks may be wiped. Name every chosen disk that has content or is removable, and its current content.',
  content: 'Content of the disk, as the server reports it.',
  country_code: 'ISO 3166-1 country, two letters.',
  credential: 'The passkey or its answer, as `PublicKeyCredential.toJSON()` returns it.',
  currency: 'Code of ISO 4217, or the symbol of a token: 3 to 5 capital letters.',
  csv: 'Text of a CSV file in the format of the export, at most 1 MiB.',
  'ccCounts.cu':
    'Only commitments with a known number of compute units in this range, such as 32..64, 32.. or ..64.',
  disabled: 'True: the user cannot sign in, and all their sessions end.',
  datacenter: 'Only objects in this datacenter, by code or id.',
  datacenter_id: 'Id of the datacenter; null for none, if the call allows it.',
  dry_run: 'True: only report what would be done, and all problems.',
  email: 'Email address; case does not matter.',
  'storeCreate.endpoint':
    'URL of the S3 service, without path, such as https://s3.eu-central-1.amazonaws.com.',
  endpoint:
    'Address or DNS name of the Kubernetes API. Default: the address of the first control plane.',
  error: 'Error code of the identity provider.',
  error_description: "The provider's explanation of the error.",
  every_hours: 'Hours between two snapshots: 1, 2, 3, 4, 6, 8, 12, 24, 48, 72 or 168.',
  exclude:
    'Addresses that are never assigned: addresses, CIDRs and a-b ranges, one per line or with commas between.',
  'ccCreate.expires_at': 'End of the commitment, in UTC; null until it is agreed.',
  'ccUpdate.expires_at': 'End of the commitment, in UTC; null until it is agreed.',
  extensions: 'Names of system extensions.',
  facility: 'Name of the building or of its operator.',
  fields: '`list`: only the fields that lists show.',
  file: 'Name of the file in the store, without the prefix of the store.',
  first_and_last:
    'True: the network and broadcast address can be assigned too. For a routed network that is not on a link.',
  folder:
    'Absolute path of a folder inside `STEELYARD_STORE_FOLDERS`, on the machine that Steelyard runs on.',
  follow: 'True: stream new lines until the client disconnects.',
  force: 'True: continue even if the server or the cluster does not answer.',
  'clusterDelete.force': 'True: forget the servers without resetting them.',
  'serverRemove.force':
    'True: also remove a server of a cluster, if the server does not answer. The cluster then forgets the server.',
  'clusterSubnetsAssign.force':
    'True: unassign subnets at once, so that Services lose their addresses. Otherwise subnets are drained.',
  format: 'Kind of file.',
  gateway: 'Address of the gateway; never assigned to a Service.',
  head: 'A noted entry that the chain must contain, as `HASH@SEQ`: the result of an earlier verification, or the log line `audit.head`.',
  id: 'Id of the object.',
  index: 'Number at the end of the code. Default: the next number of the city.',
  install_disk:
    'Device path of the disk for Talos. Default: the smallest fixed disk that is large enough; empty disks are preferred.',
  interface:
    'Link that carries the workload. Default: the link that Steelyard reaches the server on.',
  iss: 'The issuer that the provider names.',
  keep_workload_disks:
    'True: do not wipe the workload disks that were named when the server joined its cluster.',
  keep_count: 'How many snapshots of the schedule are kept; null: not limited.',
  keep_days:
    'How many days a snapshot of the schedule is kept; null: not limited. The newest is always kept.',
  kernel_args: 'Additional kernel arguments, one per item.',
  kubeconfig: "Text of an admin's kubeconfig, to check that it belongs to the same cluster.",
  kubernetes_version: 'Version of Kubernetes. Default: the newest that the Talos version supports.',
  labels: 'Labels for your own use: at most 20 pairs of key and value.',
  latitude: 'Degrees north. Give both coordinates or neither.',
  lifetime_days: 'Lifetime in days, at most 365.',
  lifetime_hours: 'Lifetime in hours; null: the token does not expire.',
  longitude: 'Degrees east.',
  max_uses: 'How many servers (system UUIDs) may use the token; null for any number.',
  name: 'Lowercase letters, digits and single hyphens, 1 to 25 characters; unique.',
  'preferencesPut.name': 'Name of the view.',
  'userCreate.name': 'Displayed name.',
  'waitlistJoin.name': "The visitor's name.",
  'userUpdate.name': 'Displayed name.',
  'apiTokenCreate.name': 'Name of the token, unique among those of the user.',
  'invitationCreate.name': 'Displayed name, which the invited person can change.',
  'invitationAccept.name': 'Displayed name.',
  'passkeyAdd.name': 'Name of the passkey.',
  'passkeyRename.name': 'Name of the passkey.',
  'profileUpdate.name': 'Displayed name.',
  new_password: 'New password, 12 to 128 characters; never trimmed.',
  node_id: 'Id of a server.',
  nonce: 'The `nonce` of the challenge.',
  notes: 'Free text.',
  of: "Name of the snapshot's cluster. Required if that is another cluster, as a confirmation.",
  offer_id:
    'Id of the offer that the capacity is sold with: 0x and 64 lowercase hexadecimal digits; null for none.',
  objects: 'Kinds and ids of the objects.',
  paused: 'True: the schedule takes no snapshots.',
  page: 'Page, counting from 1.',
  password: 'Password; never trimmed.',
  'passwordChange.password': 'Current password.',
  'sessionProve.password': 'Current password.',
  'userCreate.password':
    'Password; never trimmed. Without it, the user signs in through the identity provider, or sets a password with a link.',
  passkey: 'The answer of one of the caller’s passkeys.',
  patch: 'A patch that is created for the server in the same transaction.',
  patch_id:
    'Id of the saved patch that is being edited; the text in the request is merged instead.',
  patchId: 'Id of the patch, or `static-system` or `default-node`.',
  prereleases: 'True: include alphas, betas and release candidates.',
  path_style: 'True: the bucket is in the path of URLs. False: it is in the host name.',
  per_page: 'Items per page.',
  pod_cidr: 'Network of the pods.',
  prefix: 'Prefix of the name of every object, such as `steelyard/prod`.',
  price: 'Price per hour; null: none yet.',
  power_capacity_kw: 'Power of the site in kW.',
  provider: 'The answer of the identity provider.',
  'ccCounts.price':
    'Only commitments whose price per hour for the whole server is in this range, such as 0.5..1.25.',
  purpose:
    '`workload`: assigned by one cluster to its Services. `management`: addresses of the servers themselves.',
  q: 'Text to search for.',
  rack_capacity: 'Number of racks that the site has room for.',
  'ccUpdate.reason': 'Why the commitment failed or is removed.',
  refresh_token: 'The refresh token of the session.',
  region: 'Region of the bucket.',
  reset:
    'Ids of the control planes whose etcd is wiped. Every control plane that answers and has etcd data must be listed.',
  return_to: 'Path of the console to which the user returns afterwards.',
  role: 'Role, which determines what the user may do.',
  'clusterCreate.role': 'Role of the server in the cluster.',
  'clusterPreview.role': 'Role of the server in the cluster.',
  rotate: 'True: also return a new refresh token, which replaces the old one.',
  scopes: 'What the token may do; at most what its user may do.',
  seen: 'The `seen` value of `serverDrift`. The request is refused if the configuration has changed since.',
  secret_access_key: 'Secret access key. Stored encrypted and never returned.',
  secrets: 'Text of the secrets bundle, as `talosctl gen secrets` writes it.',
  secureboot: 'True: the image is signed for SecureBoot.',
  search: 'Search, filters and order of the list, as in the URL.',
  serial: 'Serial number of the machine or disk, as an earlier response returned it.',
  'ccCounts.server': 'Only commitments of this server, by name or id.',
  servers: 'The servers and their roles. The number of control planes must be odd and at most 7.',
  service: 'Talos service whose log is wanted.',
  service_cidr: 'Network of the services.',
  signature:
    'Signature of the `message` of the challenge, in hexadecimal: 65 bytes as Ethereum wallets sign a text (EIP-191), or 64 bytes of ES256K (RFC 8812).',
  set: 'Name of a set of files that are applied together.',
  sidebar: 'How the sidebar is shown.',
  sort: 'Column to sort by; a leading minus sorts in descending order.',
  state: 'The `state` that Steelyard sent to the provider.',
  starts_at: 'Start of the commitment, in UTC; null: when the delegation is confirmed.',
  status: 'Only objects with this status.',
  'offerUpdate.status': '`listed`: the offer is sold. `withdrawn`: it is not sold any more.',
  'ccCreate.status': '`waiting_delegation` commits the capacity at once: its terms are then fixed.',
  'ccUpdate.status': 'The new status, which must be one that may follow the present one.',
  snapshot_id: 'Id of the snapshot.',
  store: 'Only objects in this store, by name or id.',
  store_id: 'Id of a store.',
  subnet_ids:
    'All subnets that the cluster should have. Other subnets of the cluster are unassigned.',
  tail: 'Number of lines to return, counted from the end of the log.',
  talosconfig:
    "Text of an admin's talosconfig, instead of the bundle: the secrets are then read from a control plane.",
  talos_version: 'Version of Talos. Default: the newest supported version.',
  'storeCreate.kind':
    '`folder`: a folder on the machine that Steelyard runs on. `s3`: a bucket of an S3-compatible service.',
  'storeList.kind': 'Only stores of this kind.',
  'appliedMove.kind': 'Kind of the object.',
  'appliedMove.id': 'Id of the object.',
  'imageCreate.talos_version': 'Version of Talos on the image.',
  theme: 'Colour theme of the console.',
  tier: 'Tier that the provider declares (Uptime Institute); null if none is declared.',
  token: 'Token of the link: the part after the #.',
  token_id:
    'Join token that the servers announce themselves with; null: the servers are added by address.',
  type: 'Only subnets of this type.',
  user_id: 'Id of the user whose sessions are listed; `all` for the sessions of all users.',
  'apiTokenList.user_id':
    'Id of the user whose API tokens are listed; `all` for those of all users.',
  'sessionEndAll.user_id': 'Id of the user whose sessions end. Default: the caller.',
  accept_removed_apis:
    'True: upgrade even if programs still use APIs that the new version no longer serves.',
  accept_unchecked: "True: continue even if Steelyard can't reach the new endpoint.",
  drain: 'True: move the workload off each server before its kubelet is updated.',
  add: 'Disks that become workload disks, by id or path.',
  mends:
    'Names of control planes that are not well and that this change mends. They are changed first, and their problems do not stop the change.',
  take_back:
    'Id of an earlier change of patches of this cluster: its patches become again what they were before it on each server.',
  remove: 'Patches to remove, by name, or disks to remove, by id or path.',
  wipe: 'True: wipe the removed disks.',
  patches: 'Patches that each server gets. A patch of the same name is replaced.',
  uuid: 'System UUID of the machine, as an earlier response returned it.',
  version: 'Talos version.',
  views: 'Saved views by table.',
  virtual_ip: 'True: the endpoint is an unused address that the control planes share.',
  vlan_id: 'VLAN of the servers’ links; null for none.',
  weight: 'Order of merging: a higher weight is merged later.',
  workload_disks: 'Device paths of the disks that are reserved for the workload.',
  wwid: 'World Wide Identifier (WWID) of the disk, as an earlier response returned it.',
}
