/** Names and descriptions of the objects that calls of the API share. */
import type * as z from 'zod/mini'
import { Applied } from '#contract/apply/applied.ts'
import { AuditEntry } from '#contract/audit.ts'
import { ClusterPlan } from '#contract/clusters/changes/changes.ts'
import { ClusterCertificate } from '#contract/clusters/certificates.ts'
import { MaintenanceWindow } from '#contract/clusters/changes/window.ts'
import { Cluster, ClusterServer, NewCluster } from '#contract/clusters/clusters.ts'
import { ClusterHealth } from '#contract/clusters/health.ts'
import { Snapshot, SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import { Backup } from '#contract/storage/backups.ts'
import { Datacenter } from '#contract/datacenters.ts'
import { Drift } from '#contract/servers/drift.ts'
import { Extension, Image, NewImage } from '#contract/images.ts'
import { Arrival, JoinToken, NewJoinToken } from '#contract/join-tokens.ts'
import { Price } from '#contract/marketplace/money.ts'
import { Offer, OfferResources, OfferTool } from '#contract/marketplace/offers.ts'
import { CapacityCommitment, CcCapacity, CcPrice } from '#contract/marketplace/ccs.ts'
import { Operation, Step } from '#contract/operations.ts'
import { Overview } from '#contract/overview.ts'
import { NewPatch, Patch, Preview } from '#contract/patches.ts'
import { ApiToken, NewApiToken } from '#contract/people/api-tokens.ts'
import { Invitation, NewInvitation, WaitlistEntry } from '#contract/people/invitations.ts'
import { Passkey, PasskeyAnswer, PasskeyChallenge } from '#contract/people/passkeys.ts'
import { ProviderAnswer } from '#contract/people/sign-in.ts'
import {
  Eligibility,
  ListedServer,
  Resources,
  Server,
  ServerEvent,
} from '#contract/servers/servers.ts'
import { Session, User } from '#contract/sessions.ts'
import { NewStore, Store } from '#contract/storage/stores.ts'
import { Subnet } from '#contract/network/subnet.ts'
import { AddressRun, NewSubnet } from '#contract/network/subnets.ts'
import { ExistingObject, KeptObject } from '#contract/clusters/existing.ts'
import { Takeover, TakeoverServer } from '#contract/clusters/takeover.ts'
import { NewUser, Person } from '#contract/users.ts'

/** Schemas that calls share: written once in the document, under `components`. */
export const objects: Readonly<Record<string, readonly [z.core.$ZodType, description: string]>> = {
  AddressRun: [AddressRun, 'Neighbouring addresses of a subnet that are in the same state.'],
  ApiToken: [
    ApiToken,
    'A credential of a program: its user, its scopes, its end and its last use. The text of the token is returned only once, when it is created.',
  ],
  Applied: [
    Applied,
    'An object that `steelyard apply` has created, and the set of files that it belongs to.',
  ],
  Arrival: [Arrival, 'A machine that announced itself with a join token.'],
  AuditEntry: [
    AuditEntry,
    'An action: the actor, the action, the object, the time, the source address and the result. Each entry contains the hash of the previous entry.',
  ],
  Backup: [Backup, 'A backup of Steelyard itself in a store.'],
  CapacityCommitment: [
    CapacityCommitment,
    'Capacity of a server that is promised for a time at a price.',
  ],
  CcCapacity: [
    CcCapacity,
    'The capacity of a server. An unknown value is null, never 0. Sizes in bytes.',
  ],
  CcPrice: [
    CcPrice,
    'A price per hour: a decimal number as text, its currency, and what it is paid for.',
  ],
  Cluster: [Cluster, 'A Kubernetes cluster and its servers.'],
  ClusterHealth: [
    ClusterHealth,
    'Health of a cluster: etcd, its Kubernetes API, its nodes and its versions.',
  ],
  ClusterPlan: [
    ClusterPlan,
    'The steps of a change of a cluster in their order, and whether it can begin.',
  ],
  ClusterCertificate: [
    ClusterCertificate,
    'A certificate of a cluster or of one of its servers: when it expires and what renews it. A time is null if the certificate could not be read.',
  ],
  ClusterServer: [ClusterServer, 'A server and its role in a cluster that is to be created.'],
  Datacenter: [
    Datacenter,
    'A site with servers, clusters and subnets. Its code is made from country, city and index: PL-POZ-1.',
  ],
  Drift: [
    Drift,
    'Changes made outside of Steelyard to the configuration of a machine, and how they would be kept.',
  ],
  Eligibility: [
    Eligibility,
    'A check that a server must pass to join a cluster, and what to do if the check fails.',
  ],
  Extension: [Extension, 'A Talos system extension that an image can contain.'],
  Image: [
    Image,
    'A prepared image: its schematic, the links to its files, the PXE script and the kernel command line.',
  ],
  Invitation: [Invitation, 'An invitation that was not accepted yet.'],
  JoinToken: [
    JoinToken,
    'A join token, with which a booting server can announce itself. The text of the token is returned only once, when it is created.',
  ],
  ListedServer: [ListedServer, 'A server with only the fields that lists show.'],
  MaintenanceWindow: [
    MaintenanceWindow,
    'Weekly times in which scheduled changes of a cluster run.',
  ],
  NewApiToken: [NewApiToken, 'An API token to create. Its scopes are at most those of its user.'],
  NewCluster: [
    NewCluster,
    'A cluster to create. All fields except name, datacenter and servers have a default.',
  ],
  NewImage: [NewImage, 'An image to prepare.'],
  NewInvitation: [NewInvitation, 'Whom to invite, and with which role.'],
  NewJoinToken: [
    NewJoinToken,
    'A join token to create: its lifetime, its number of uses and its datacenter.',
  ],
  NewPatch: [
    NewPatch,
    'A patch to add: strategic-merge YAML for the machine configuration of one server.',
  ],
  NewStore: [NewStore, 'A store to add: a folder, or a bucket of an S3-compatible service.'],
  NewSubnet: [NewSubnet, 'A subnet to add. Its type is read from the CIDR.'],
  NewUser: [NewUser, 'A user to add.'],
  Offer: [
    Offer,
    'What is sold of one cluster: its resources, its price, and the address whose key lets software act for it.',
  ],
  OfferResources: [
    OfferResources,
    'Capacity of an offer. Null: unknown, because the hardware of a server is unknown.',
  ],
  OfferTool: [
    OfferTool,
    'The command-line tool for offers. `{offerId}` and `{chainAddress}` in its commands stand for the values of a cluster.',
  ],
  Operation: [
    Operation,
    'Work that continues after the response: its steps, its progress and what it waits for.',
  ],
  Overview: [Overview, 'Counts of servers and clusters, capacity, running and failed operations.'],
  Passkey: [Passkey, 'A passkey of a user (WebAuthn).'],
  PasskeyAnswer: [PasskeyAnswer, "The browser's answer to a challenge for a passkey."],
  PasskeyChallenge: [
    PasskeyChallenge,
    'A challenge for a passkey, for the browser. It is answered once, within five minutes.',
  ],
  Patch: [Patch, 'A layer of the machine configuration of one server.'],
  Person: [Person, 'A user of this installation.'],
  Price: [Price, 'A price per hour. The amount is decimal text, because JSON numbers are inexact.'],
  Preview: [
    Preview,
    'What a patch would do: the merged configuration before and after, errors by line, and whether a reboot is needed.',
  ],
  ProviderAnswer: [
    ProviderAnswer,
    'The query with which the identity provider sent the browser back.',
  ],
  Resources: [
    Resources,
    'The hardware of a server. Sizes in bytes, speeds in MHz; fields that the server did not report are left out.',
  ],
  Server: [
    Server,
    'A machine, called node in paths. `status` is its state in Steelyard, `talos.stage` the stage that Talos reports.',
  ],
  ServerEvent: [ServerEvent, 'Something that happened to a server.'],
  Session: [Session, 'An open session: a device that is signed in.'],
  Snapshot: [
    Snapshot,
    "A snapshot of a cluster's etcd in a store. Only a snapshot with the status `ready` can be restored.",
  ],
  SnapshotSchedule: [
    SnapshotSchedule,
    'When snapshots of a cluster are taken, and how long they are kept.',
  ],
  Step: [Step, 'One step of an operation.'],
  Store: [Store, 'A place for snapshots of clusters and for backups of Steelyard.'],
  Subnet: [
    Subnet,
    'Addresses that are routed to a datacenter. A workload subnet is the address pool of one cluster.',
  ],
  ExistingObject: [
    ExistingObject,
    'An object in the Kubernetes of a cluster that is taken over. It is kept, unless the takeover names it in `replace`.',
  ],
  KeptObject: [
    KeptObject,
    'An object that was in the Kubernetes of the cluster before its takeover, and that was kept.',
  ],
  Takeover: [
    Takeover,
    'A cluster that was created without Steelyard, as its machines report it, and what taking it over would do.',
  ],
  TakeoverServer: [TakeoverServer, 'A machine of a cluster that is taken over.'],
  User: [User, 'The user who is signed in.'],
  WaitlistEntry: [WaitlistEntry, 'A person on the waitlist.'],
}
