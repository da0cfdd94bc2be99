// Generated from the migrated database by npm run generate:tables.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Columns } from './columns.ts'

/** Values are parsed when read, and written as JSON text. */
type Json<T> = ColumnType<T, string, string>
type DefaultJson<T> = ColumnType<T, string | undefined, string>
type OptionalJson<T> = ColumnType<T | null, string | null | undefined, string | null>

export interface Tables {
  alert: {
    finding_id: string | null
    channel_id: string
    told_at: Date
    ended_at: Date | null
    again: Generated<boolean>
    incident_id: string
  }
  alert_rule: {
    id: Generated<string>
    name: string
    severities: string[]
    kinds: string[]
    datacenter_ids: string[]
    cluster_ids: string[]
    channel_ids: string[] | null
    wait_minutes: number
    digest_at: string | null
    remind_hours: number | null
    paused: Generated<boolean>
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  api_token: {
    id: Generated<string>
    person_id: string
    name: string
    hash: Uint8Array
    scopes: Columns['api_token.scopes']
    created_at: Date
    expires_at: Date
    last_used_at: Date | null
    last_used_ip: string | null
  }
  applied_object: {
    kind: string
    id: string
    set_name: string
    server_id: string | null
    created_at: Date
  }
  audit_entry: {
    seq: number
    at: Date
    action: string
    outcome: string
    actor_kind: string
    actor_id: string | null
    actor_name: string
    session_id: string | null
    ip: string | null
    request_id: string | null
    target_kind: string | null
    target_id: string | null
    target_name: string | null
    before: OptionalJson<Columns['audit_entry.before']>
    after: OptionalJson<Columns['audit_entry.after']>
    previous_hash: string
    hash: string
  }
  audit_excerpt: {
    seq: number
    before: OptionalJson<Columns['audit_excerpt.before']>
    after: OptionalJson<Columns['audit_excerpt.after']>
  }
  bmc: {
    id: Generated<string>
    address: string
    port: number
    server_id: string | null
    candidates: DefaultJson<Columns['bmc.candidates']>
    status: 'unconfirmed' | 'ready' | 'unreachable' | 'denied' | 'changed' | 'unsupported'
    reason: string | null
    status_since: Date
    fingerprint: string | null
    certificate: OptionalJson<Columns['bmc.certificate']>
    credential_id: string | null
    username: string | null
    password_sealed: Uint8Array | null
    wishes: DefaultJson<Columns['bmc.wishes']>
    uuid: string | null
    serial: string | null
    macs: Generated<string[]>
    vendor: string | null
    model: string | null
    firmware: string | null
    system_path: string | null
    capabilities: DefaultJson<Columns['bmc.capabilities']>
    power: Generated<'on' | 'off' | 'turning_on' | 'turning_off' | 'unknown'>
    power_since: Date | null
    lit: boolean | null
    power_wanted: 'on' | 'off' | null
    power_wanted_at: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  bmc_contact: {
    bmc_id: string
    due_at: Date
    owner: string | null
    lease_until: Date | null
    slow: Generated<boolean>
    failures: Generated<number>
    answered_at: Date | null
    power_seen_at: Date | null
    inventory_at: Date | null
    session_sealed: Uint8Array | null
  }
  bmc_credential: {
    id: Generated<string>
    name: string
    username: string
    password_sealed: Uint8Array
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  capacity_commitment: {
    id: Generated<string>
    server_id: string
    offer_id: string | null
    status: Generated<'not_committed' | 'waiting_delegation' | 'waiting_start' | 'active' | 'completed' | 'failed' | 'removed'>
    reason: string | null
    cores: number | null
    memory_bytes: number | null
    disk_bytes: number | null
    compute_units: number | null
    measured_at: Date | null
    price: string | null
    currency: string | null
    basis: 'server' | 'compute_unit' | null
    hourly: GeneratedAlways<string | null>
    starts_at: Date | null
    expires_at: Date | null
    committed_at: Date | null
    committed_by: string | null
    delegated_at: Date | null
    delegated_by: string | null
    started_at: Date | null
    ended_at: Date | null
    due_at: GeneratedAlways<Date | null>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    updated_by: string
  }
  channel: {
    id: Generated<string>
    name: string
    kind: 'webhook' | 'mail' | 'alertmanager'
    url: string | null
    host: string | null
    port: number | null
    security: 'starttls' | 'tls' | 'none' | null
    mail_from: string | null
    mail_to: string[] | null
    username: string | null
    secret_sealed: Uint8Array | null
    former_sealed: Uint8Array | null
    former_until: Date | null
    paused: Generated<boolean>
    verified_at: Date | null
    problem: string | null
    problem_since: Date | null
    refreshed_at: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
    not_before: Date | null
    gone_since: Date | null
  }
  city_index: {
    country_code: string
    city_code: string
    last_index: number
  }
  cluster: {
    id: Generated<string>
    name: string
    datacenter_id: string | null
    talos_version: string
    kubernetes_version: string
    endpoint: string
    virtual_ip: boolean
    vlan_id: number | null
    pod_cidr: string
    service_cidr: string
    chain_address: string | null
    wanted: Generated<'ready' | 'removed'>
    forced: Generated<boolean>
    status: Generated<'pending' | 'configuring' | 'installing' | 'bootstrapping' | 'ready' | 'degraded' | 'failed' | 'deleting'>
    reason: string | null
    operation_id: string | null
    operation_round: Generated<number>
    escrowed_at: Date | null
    control_plane_at: Date | null
    nodes_ready_at: Date | null
    key_applied_at: Date | null
    access_applied_at: Date | null
    ready_at: Date | null
    misses: Generated<number>
    deleted_at: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
    locked_out: 'talos_ca' | 'kubernetes_ca' | null
    locked_out_since: Date | null
    taken_over_at: Date | null
    maintenance_window: OptionalJson<Columns['cluster.maintenance_window']>
    other_endpoint: string | null
    other_virtual_ip: Generated<boolean>
    certificates_ending: OptionalJson<Columns['cluster.certificates_ending']>
    certificates_read_at: Date | null
    kept: DefaultJson<Columns['cluster.kept']>
    replaces: DefaultJson<Columns['cluster.replaces']>
    contract: string
    is_moved: Generated<boolean>
    problem: 'api' | 'api_server' | 'nodes' | 'components' | 'former_member' | null
    problem_since: Date | null
    finding: OptionalJson<Columns['cluster.finding']>
    former_endpoints: Generated<string[]>
    observed: OptionalJson<Columns['cluster.observed']>
    upgrade: OptionalJson<Columns['cluster.upgrade']>
    labels: DefaultJson<Columns['cluster.labels']>
    notes: Generated<string>
    files_set: string | null
    files_by: string | null
    files_at: Date | null
    wanted_image: OptionalJson<Columns['cluster.wanted_image']>
  }
  cluster_bootstrap: {
    cluster_id: string
    node_id: string
    node_uuid: string
    intent_at: Date
    called_at: Date | null
    calls: Generated<number>
    confirmed_at: Date | null
    boot_id: string | null
    etcd_start: string | null
  }
  cluster_pool: {
    cluster_id: string
    provider: 'cilium' | 'metallb' | null
    announced: string | null
    operation_id: string | null
    operation_round: Generated<number>
    checked_at: Date | null
    misses: Generated<number>
  }
  cluster_recovery: {
    cluster_id: string
    operation_id: string
    snapshot_id: string
    node_id: string | null
    wiped_at: Date | null
    uploaded_at: Date | null
    called_at: Date | null
    calls: Generated<number>
    confirmed_at: Date | null
    boot_id: string | null
    etcd_start: string | null
    wiped_boots: DefaultJson<Columns['cluster_recovery.wiped_boots']>
  }
  cluster_rotation: {
    cluster_id: string
    what: 'talos_ca' | 'kubernetes_ca' | 'aggregator_ca' | 'tokens'
    stage: 'accepting' | 'switching' | 'dropping' | 'returning'
    sealed: Uint8Array
    escrowed_at: Date | null
    begun_at: Date
    changed_at: Date
  }
  cluster_secret: {
    cluster_id: string
    kind: 'bundle' | 'chain_key'
    sealed: Uint8Array
    created_at: Date
  }
  cluster_secret_generation: {
    cluster_id: string
    generation: number
    what: 'talos_ca' | 'kubernetes_ca' | 'aggregator_ca' | 'tokens' | 'import'
    sealed: Uint8Array
    used_from: Date
    used_until: Date
  }
  cluster_server: {
    cluster_id: string
    node_id: string
    role: 'control_plane' | 'worker'
    position: number
    name: string
    interface: string | null
    install_disk: string
    install_image: string
    workload_disks: Generated<string[]>
    wanted: Generated<'joined' | 'released'>
    at: Generated<Columns['cluster_server.at']>
    at_since: Date
    stage: string | null
    seen_at: Date | null
    send_intent_at: Date | null
    sent_at: Date | null
    sends: Generated<number>
    left_at: Date | null
    was_installed: boolean | null
    secured_at: Date | null
    etcd_at: Date | null
    node_ready_at: Date | null
    reset_intent_at: Date | null
    reset_sent_at: Date | null
    resets: Generated<number>
    failed_at: Date | null
    failure: string | null
    released_at: Date | null
    operation_id: string | null
    wiped_at: Date | null
    disk_wwids: DefaultJson<Columns['cluster_server.disk_wwids']>
    install_wwid: string | null
    trouble: string | null
    failure_log: string | null
    failure_log_at: Date | null
    agreed_disks: DefaultJson<Columns['cluster_server.agreed_disks']>
    images: OptionalJson<Columns['cluster_server.images']>
    overwrite_seen: string | null
    waits: Generated<boolean>
    keeps_disks: Generated<boolean>
    endpoint: string | null
    is_moved: Generated<boolean>
    forgets_other_endpoint: Generated<boolean>
    install_boot_id: string | null
    install_failed_at: Date | null
    unbootable_at: Date | null
    install_resets: Generated<number>
    etcd_restart_at: Date | null
  }
  cluster_server_base: {
    cluster_id: string
    node_id: string
    sealed: Uint8Array
    created_at: Date
  }
  cluster_server_config: {
    cluster_id: string
    node_id: string
    generation: number
    sealed: Uint8Array
    hash: string
    created_at: Date
    held_at: Date | null
    is_for_good: Generated<boolean>
    restart_boot_id: string | null
    undo_after_seconds: number | null
  }
  configuration_claim: {
    node_id: string
    owner: string
    instance: string
    until: Date
  }
  configuration_trial: {
    cluster_id: string
    node_id: string
    generation: number
    hash: string
    former_hash: string
    attempt: string
    address: string
    phase: 'trying' | 'confirming' | 'confirmed' | 'undoing' | 'undone'
    lasts_ms: number
    began_at: Date
    answered_at: Date | null
    confirmed_at: Date | null
    reason: string | null
  }
  control_plane_claim: {
    cluster_id: string
    node_id: string
    until: Date
  }
  data_key: {
    owner: string
    version: number
    wrapping_key: string
    wrapped: Uint8Array
    created_at: Generated<Date>
  }
  datacenter: {
    id: Generated<string>
    country_code: string
    city_code: string
    city_name: string
    index: number
    code: GeneratedAlways<string>
    tier: number | null
    certifications: Generated<string[]>
    latitude: number | null
    longitude: number | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
    facility: string | null
    address: string | null
    power_capacity_kw: number | null
    rack_capacity: number | null
    notes: string | null
  }
  delivery: {
    id: Generated<string>
    channel_id: string | null
    channel_name: string
    test: Generated<boolean>
    subject: string
    content: Json<Columns['delivery.content']>
    attempts: Generated<number>
    next_at: Date | null
    expires_at: Date
    arrived: boolean | null
    problem: string | null
    created_at: Date
    ended_at: Date | null
  }
  delivery_attempt: {
    delivery_id: string
    number: number
    at: Date
    took_ms: number
    status: number | null
    problem: string | null
    answer: string
  }
  delivery_recipient: {
    delivery_id: string
    address: string
    attempts: Generated<number>
    next_at: Date | null
    arrived: boolean | null
    status: number | null
    problem: string | null
  }
  early_documents: {
    token_id: string
    digest: string
    documents: Json<Columns['early_documents.documents']>
    created_at: Date
  }
  effect: {
    queue: string
    key: string
    name: string
    fence: number
    attempts: number
    intent_at: Date
    done_at: Date | null
    failed_at: Date | null
    error: string | null
  }
  event: {
    id: number
    at: Date
    name: string
    scope: string | null
    data: Json<Columns['event.data']>
  }
  finding: {
    id: Generated<string>
    kind: string
    severity: 'down' | 'degraded' | 'attention'
    object_kind: 'server' | 'cluster' | 'datacenter' | 'channel' | 'installation'
    object_id: string
    object_name: string
    cluster_id: string | null
    cluster_name: string | null
    datacenter_id: string | null
    datacenter_code: string | null
    operation_id: string | null
    since: Date
    reason: string
    count: Generated<number>
    begins: Date[]
    acknowledged_at: Date | null
    acknowledged_by: string | null
    acknowledged_note: string | null
    caused_by: string | null
    ended_at: Date | null
    incident_id: string | null
  }
  finding_affected: {
    finding_id: string
    server_id: string
    name: string
    since: Date
    ended_at: Date | null
  }
  fleet_member: {
    id: string
    beat_at: Date
  }
  fleet_shard: {
    shard: number
    owner: string | null
    lease_until: Date | null
  }
  history: {
    id: GeneratedAlways<number>
    at: Date
    kind: string
    object_kind: 'server' | 'cluster' | 'datacenter'
    object_id: string
    object_name: string
    cluster_id: string | null
    cluster_name: string | null
    actor_kind: 'user' | 'token' | 'steelyard'
    actor_name: string
    operation_id: string | null
    requested_by: string | null
    message: string
    before: Json<Columns['history.before']>
    after: Json<Columns['history.after']>
    log: string | null
    simulated: Generated<boolean>
  }
  history_base: {
    object_kind: 'server' | 'cluster'
    object_id: string
    at: Date
    state: Json<Columns['history_base.state']>
  }
  hold: {
    subject: string
    kind: 'cluster' | 'operation'
    id: string
  }
  idempotent_call: {
    person_id: string
    operation: string
    key: string
    request_hash: Uint8Array
    started_at: Date
    committed_at: Date | null
    answered_at: Date | null
    status: number | null
    answer: OptionalJson<Columns['idempotent_call.answer']>
    owner: Generated<string>
    claim: Generated<string>
    beat_at: Generated<Date>
    bytes: Generated<number>
  }
  image: {
    id: Generated<string>
    talos_version: string
    arch: 'amd64' | 'arm64'
    secureboot: boolean
    extensions: string[]
    kernel_args: string[]
    format: 'iso' | 'pxe' | 'raw' | 'qcow2'
    datacenter_id: string | null
    token_id: string | null
    public_url: string
    factory_url: string
    factory_simulated: Generated<boolean>
    schematic_id: string
    registered_at: Date | null
    reason: string | null
    created_by: string | null
    created_at: Date
    updated_at: Date
    version: Generated<number>
    early: OptionalJson<Columns['image.early']>
    early_packed: string | null
  }
  incident: {
    id: Generated<string>
    key: string
    title: string
    effect: 'nobody_served' | 'writes_refused' | 'redundancy_gone' | 'one_server' | 'in_time'
    kind: Columns['incident.kind']
    object_kind: 'server' | 'cluster' | 'datacenter' | 'channel' | 'installation'
    object_id: string
    object_name: string
    cluster_id: string | null
    cluster_name: string | null
    datacenter_id: string | null
    datacenter_code: string | null
    operation_id: string | null
    finding_id: string | null
    reason: string
    worst: OptionalJson<Columns['incident.worst']>
    objects: Json<Columns['incident.objects']>
    object_ids: string[]
    clusters: string[]
    datacenters: string[]
    parts: number
    since: Date
    begins: Date[]
    ended_at: Date | null
    merged_into: string | null
    assigned_to: string | null
    assigned_name: string | null
    assigned_by: string | null
    assigned_at: Date | null
    note: string | null
  }
  incident_step: {
    id: GeneratedAlways<number>
    incident_id: string
    at: Date
    text: string
    by_name: string | null
    object_kind: Columns['incident_step.object_kind'] | null
  }
  installation: {
    singleton: Generated<boolean>
    id: Generated<string>
    key_fingerprint: string | null
    rotation_key_sealed: Uint8Array | null
    created_at: Generated<Date>
  }
  invitation: {
    id: Generated<string>
    email: string
    name: string
    role: 'viewer' | 'operator' | 'admin'
    hash: Uint8Array
    invited_by: string | null
    created_at: Date
    expires_at: Date
    inviter_id: string | null
  }
  join_arrival: {
    id: Generated<string>
    token_id: string
    uuid: string
    serial: string
    mac: string | null
    address: string
    host_name: string | null
    at: Date
    result: 'waiting' | 'joined' | 'failed' | 'refused'
    reason: string | null
    server_id: string | null
    shard: number
    counted: Generated<boolean>
    early: string | null
  }
  join_key: {
    id: Generated<number>
    key_sealed: Uint8Array
  }
  join_token: {
    id: Generated<string>
    name: string
    hash: Uint8Array
    datacenter_id: string | null
    max_uses: number | null
    uses: Generated<number>
    expires_at: Date | null
    revoked_at: Date | null
    last_used_at: Date | null
    created_by: string | null
    created_at: Date
    updated_at: Date
    version: Generated<number>
    labels: DefaultJson<Columns['join_token.labels']>
  }
  machine_event: {
    server_id: string
    id: string
    at: Date | null
    type: string
    message: string
    count: Generated<number>
    first_at: Date | null
    matters: Generated<boolean>
  }
  measurement_day: {
    object_id: string
    day: Columns['measurement_day.day']
    packed: Uint8Array
  }
  measurement_minute: {
    object_id: string
    at: Date
    figures: Columns['measurement_minute.figures']
  }
  measurement_simulated: {
    id: Generated<number>
    before: Date
  }
  offer: {
    id: string
    cluster_id: string | null
    datacenter_id: string | null
    status: Generated<'draft' | 'listed' | 'withdrawn'>
    resources: Json<Columns['offer.resources']>
    node_ids: string[]
    computed_at: Date
    price_amount: string | null
    price_currency: string | null
    price_basis: 'compute_unit' | 'server' | 'cluster' | null
    access_address: string | null
    proven_at: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  offer_detection: {
    cluster_id: string
    since: Date
    ended_at: Date | null
  }
  offer_proof: {
    nonce: string
    expires_at: Date
  }
  operation: {
    id: Generated<string>
    kind: Columns['operation.kind']
    target_kind: Columns['operation.target_kind']
    target_id: string | null
    target_name: string
    scope: string | null
    status: Generated<'pending' | 'running' | 'waiting' | 'cancelling' | 'cancelled' | 'failed' | 'done'>
    reason: string | null
    queue: string | null
    queue_key: string | null
    created_by: string | null
    created_by_name: string
    created_at: Date
    started_at: Date | null
    ended_at: Date | null
    cancel_requested_at: Date | null
    round: Generated<number>
    version: Generated<number>
    held_since: Date | null
    arguments: DefaultJson<Columns['operation.arguments']>
    starts_at: Date | null
    in_window: Generated<boolean>
    traceparent: string | null
  }
  operation_delay: {
    operation_id: string
    step: string
    since: Date
    reason: string
  }
  operation_step: {
    operation_id: string
    key: string
    position: number
    title: string
    node_id: string | null
    status: Generated<'todo' | 'running' | 'waiting' | 'done' | 'failed' | 'skipped'>
    attempt: Generated<number>
    started_at: Date | null
    ended_at: Date | null
    reason: string | null
  }
  outbox: {
    id: GeneratedAlways<number>
    at: Date
    audit: OptionalJson<Columns['outbox.audit']>
    event: OptionalJson<Columns['outbox.event']>
  }
  passkey: {
    id: Generated<string>
    person_id: string
    credential_id: string
    public_key: Uint8Array
    counter: number
    transports: string[]
    backed_up: boolean
    name: string
    created_at: Date
    last_used_at: Date | null
  }
  password_reset: {
    person_id: string
    hash: Uint8Array
    created_at: Date
    expires_at: Date
    offered_by: string | null
  }
  patch: {
    id: Generated<string>
    server_id: string
    name: string
    weight: number
    labels: DefaultJson<Columns['patch.labels']>
    body_sealed: Uint8Array
    links: Generated<string[]>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    created_by_name: string
  }
  person: {
    id: Generated<string>
    email: string
    name: string
    role: 'viewer' | 'operator' | 'admin'
    password_hash: string | null
    disabled_at: Date | null
    last_sign_in_at: Date | null
    created_at: Date
    updated_at: Date
    version: Generated<number>
  }
  person_identity: {
    issuer: string
    subject: string
    person_id: string
    created_at: Date
  }
  preference: {
    person_id: string
    preferences: Json<Columns['preference.preferences']>
    updated_at: Date
  }
  publication: {
    singleton: Generated<boolean>
    last_event: Generated<number>
    last_audit: Generated<number>
    last_hash: Generated<string>
    chain_sealed: Uint8Array | null
  }
  rack: {
    id: Generated<string>
    datacenter_id: string
    name: string
    units: number
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  recovery_code: {
    person_id: string
    hash: Uint8Array
  }
  refresh_token: {
    hash: Uint8Array
    session_id: string
    parent_hash: Uint8Array | null
    created_at: Date
    used_at: Date | null
  }
  restoration: {
    singleton: Generated<boolean>
    backup_made_at: Date
    restored_at: Date
    missing: string | null
  }
  server: {
    id: Generated<string>
    name: string
    status: Generated<'ready' | 'maintenance' | 'deleted'>
    type: Generated<'unknown' | 'control_plane' | 'worker'>
    datacenter_id: string | null
    cluster_id: string | null
    cluster_name: string | null
    operation_id: string | null
    address: string
    identity_state: 'announced' | 'unconfirmed' | 'confirmed' | 'changed'
    identity_since: Date
    identity_note: string | null
    uuid: string | null
    serial: string | null
    manufacturer: string | null
    product: string | null
    seen_uuid: string | null
    seen_serial: string | null
    predecessor_id: string | null
    fingerprint: string | null
    hardware: OptionalJson<Columns['server.hardware']>
    hardware_at: Date | null
    stage: Generated<Columns['server.stage']>
    unmet: DefaultJson<Columns['server.unmet']>
    talos_version: string | null
    schematic: string | null
    secure_boot: boolean | null
    system_disk: string | null
    reachable: boolean | null
    unreachable_since: Date | null
    reason: string | null
    patch_count: Generated<number>
    patch_links: Generated<string[]>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    removed_at: Date | null
    change: Generated<string>
    node_ready: boolean | null
    node_reason: string | null
    node_since: Date | null
    drift_since: Date | null
    drift_seen: string | null
    commitment_id: string | null
    commitment_status: 'not_committed' | 'waiting_delegation' | 'waiting_start' | 'active' | 'completed' | 'failed' | 'removed' | null
    identity_mac: string | null
    last_change: OptionalJson<Columns['server.last_change']>
    pending: OptionalJson<Columns['server.pending']>
    trial_state: 'running' | 'undone' | null
    trial_reason: string | null
    trial_since: Date | null
    failed_at: Date | null
    failure: string | null
    finding: OptionalJson<Columns['server.finding']>
    left_cluster: string | null
    failed_installs: Generated<number>
    install_failed_at: Date | null
    install_failure: string | null
    rack_id: string | null
    rack_unit: number | null
    rack_height: number | null
    rack_face: 'both' | 'front' | 'rear' | null
    rack_units: number | null
    labels: DefaultJson<Columns['server.labels']>
    notes: Generated<string>
    quarantine: OptionalJson<Columns['server.quarantine']>
    rack_bay: string | null
    talos_noted_at: Date | null
    bmc_id: string | null
    power: Columns['server.power'] | null
    power_since: Date | null
  }
  server_bulk_item: {
    operation_id: string
    server_id: string
    position: number
    version: number
    cluster_id: string | null
    begun_id: string | null
    commitment_version: number | null
  }
  server_contact: {
    server_id: string
    at: Date
    change: Generated<string>
  }
  session: {
    id: string
    person_id: string
    created_at: Date
    last_used_at: Date
    expires_at: Date
    revoked_at: Date | null
    revoked_reason: string | null
    ip: string
    user_agent: string
    method: 'password' | 'passkey' | 'provider'
    has_second_factor: boolean
    proved_at: Date
  }
  shared_layer: {
    server_id: string
    patch_id: string
    revision: number
    name: string
    weight: number
    body_sealed: Uint8Array
    links: Generated<string[]>
    filled: Json<Columns['shared_layer.filled']>
    created_at: Date
  }
  shared_patch: {
    id: Generated<string>
    name: string
    weight: number
    body_sealed: Uint8Array
    targets: Json<Columns['shared_patch.targets']>
    variables: Generated<string[]>
    revision: Generated<number>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    created_by_name: string
    updated_by_name: string
  }
  shared_roll_out: {
    id: Generated<string>
    patch_id: string
    operation_id: string
    undoes: string | null
    revision: number
    definition_sealed: Uint8Array
    created_at: Date
    created_by_name: string
  }
  shared_roll_out_server: {
    roll_out_id: string
    server_id: string
    position: number
    before_sealed: Uint8Array | null
    after_sealed: Uint8Array | null
    change_id: string | null
    applied_at: Date | null
  }
  shared_view: {
    id: Generated<string>
    list: string
    name: string
    search: Json<Columns['shared_view.search']>
    author_id: string | null
    author: string
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  sign_in_challenge: {
    id: Generated<string>
    kind: 'passkey_sign_in' | 'passkey_proof' | 'passkey_new' | 'provider_sign_in' | 'provider_proof'
    session_id: string | null
    browser_hash: Uint8Array | null
    return_to: string | null
    expires_at: Date
  }
  sign_in_failure: {
    id: GeneratedAlways<number>
    email: string
    source: string
    at: Date
  }
  signing_key: {
    id: string
    public_jwk: Json<Columns['signing_key.public_jwk']>
    private_sealed: Uint8Array
    created_at: Date
  }
  silence: {
    id: Generated<string>
    note: string
    severities: string[]
    kinds: string[]
    datacenter_ids: string[]
    cluster_ids: string[]
    object_kind: 'server' | 'cluster' | 'datacenter' | 'channel' | 'installation' | null
    object_id: string | null
    object_name: string | null
    starts_at: Date
    ends_at: Date
    repeats: OptionalJson<Columns['silence.repeats']>
    made_by: string
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  snapshot: {
    id: Generated<string>
    cluster_id: string | null
    cluster_name: string | null
    store_id: string | null
    object_key: string
    source_key: string | null
    made_by: 'request' | 'schedule' | 'import'
    created_by: string | null
    status: Generated<'taking' | 'ready' | 'failed' | 'removing' | 'removed'>
    reason: string | null
    attempts: Generated<number>
    taken_from: string | null
    taken_at: Date | null
    etcd_version: string | null
    revision: number | null
    identity: string | null
    size_bytes: number | null
    sha256: string | null
    stored_bytes: number | null
    verified_at: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
    encryption: OptionalJson<Columns['snapshot.encryption']>
    purpose: string | null
    waits: Generated<number>
  }
  snapshot_schedule: {
    id: Generated<string>
    cluster_id: string | null
    store_id: string
    every_hours: number
    at_hour: number
    keep_count: number | null
    keep_days: number | null
    paused: Generated<boolean>
    begun_for: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  store: {
    id: Generated<string>
    name: string
    kind: 'folder' | 's3'
    folder: string | null
    endpoint: string | null
    region: string | null
    bucket: string | null
    prefix: Generated<string>
    path_style: Generated<boolean>
    access_key_id: string | null
    secret_sealed: Uint8Array | null
    verified_at: Date | null
    problem: string | null
    problem_since: Date | null
    version: Generated<number>
    created_at: Date
    updated_at: Date
  }
  subnet: {
    id: Generated<string>
    name: string
    datacenter_id: string
    cidr: string
    gateway: string | null
    vlan_id: number | null
    exclude: Generated<string[]>
    first_and_last: Generated<boolean>
    purpose: Generated<'workload' | 'management'>
    total: string
    scope: GeneratedAlways<string>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    updated_by: string
  }
  subnet_assignment: {
    subnet_id: string
    cluster_id: string
    purpose: string
    state: 'applying' | 'active' | 'draining' | 'error'
    reason: string | null
    forced: Generated<boolean>
    assigned_by: string
    assigned_at: Date
    sent_at: Date | null
    applied: string | null
    observed_at: Date | null
    used: number | null
  }
  subnet_use: {
    subnet_id: string
    cluster_id: string
    address: string
    used_by: string
  }
  talos_upgrade: {
    operation_id: string
    node_id: string
    image: string
    version: string
    schematic: string
    version_before: string
    schematic_before: string
    round: Generated<number>
    boot_id: string | null
    written_at: Date | null
    intent_at: Date | null
    sent_at: Date | null
    followed_at: Date | null
    created_at: Date
  }
  template: {
    id: Generated<string>
    name: string
    definition: Json<Columns['template.definition']>
    revision: Generated<number>
    version: Generated<number>
    created_at: Date
    updated_at: Date
    created_by_name: string
    listed: Json<Columns['template.listed']>
  }
  totp: {
    person_id: string
    secret_sealed: Uint8Array | null
    since: Date | null
    last_step: number | null
    pending_sealed: Uint8Array | null
    pending_until: Date | null
  }
  waitlist_entry: {
    id: Generated<string>
    email: string
    name: string
    company: string
    created_at: Date
    invited_at: Date | null
  }
  wake_up: {
    queue: string
    key: string
    fence: Generated<number>
    due_at: Date | null
    owner: string | null
    taken_at: Date | null
    beat_at: Date | null
    failures: Generated<number>
    last_error: string | null
    held: Generated<boolean>
    instance: string | null
    crashes: Generated<number>
    crash_mark: string | null
    crashed_fence: number | null
    halted_at: Date | null
    suspicions: Generated<number>
    crashed_instance: string | null
    crashed_alone: Generated<boolean>
    retry_at: Date | null
    trying: Generated<boolean>
  }
}
