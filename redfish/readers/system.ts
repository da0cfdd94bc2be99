/** The computer system and its manager (DSP0268 `ComputerSystem`, `Manager`, `ActionInfo`). */
import * as z from 'zod/mini'
import { pathOf } from '../client/paths.ts'
import {
  field,
  flag,
  link,
  links,
  moment,
  number,
  part,
  parts,
  status,
  text,
  texts,
} from './lenient.ts'

const target = field(pathOf)

export const system = z.object({
  '@odata.id': target,
  Id: text,
  Name: text,
  UUID: text,
  SerialNumber: text,
  SKU: text,
  Manufacturer: text,
  Model: text,
  HostName: text,
  BiosVersion: text,
  PowerState: text,
  LocationIndicatorActive: flag,
  IndicatorLED: text,
  LastResetTime: moment,
  Status: status,
  ProcessorSummary: part({
    Count: number,
    CoreCount: number,
    LogicalProcessorCount: number,
    Model: text,
  }),
  MemorySummary: part({ TotalSystemMemoryGiB: number, Status: status }),
  BootProgress: part({ LastState: text, LastStateTime: moment }),
  Boot: part({
    BootSourceOverrideEnabled: text,
    BootSourceOverrideTarget: text,
    BootSourceOverrideMode: text,
    'BootSourceOverrideTarget@Redfish.AllowableValues': texts,
    HttpBootUri: text,
  }),
  '@Redfish.Settings': part({ SettingsObject: link }),
  Processors: link,
  Memory: link,
  Storage: link,
  SimpleStorage: link,
  EthernetInterfaces: link,
  NetworkInterfaces: link,
  LogServices: link,
  VirtualMedia: link,
  Links: part({ Chassis: links, ManagedBy: links }),
  Actions: part({
    '#ComputerSystem.Reset': part({
      target,
      'ResetType@Redfish.AllowableValues': texts,
      '@Redfish.ActionInfo': target,
    }),
  }),
})

export const actionInfo = z.object({
  Parameters: parts({ Name: text, AllowableValues: texts }),
})

export const manager = z.object({
  '@odata.id': target,
  Id: text,
  Name: text,
  ManagerType: text,
  Manufacturer: text,
  Model: text,
  FirmwareVersion: text,
  DateTime: moment,
  Status: status,
  LogServices: link,
  VirtualMedia: link,
  Actions: part({
    '#Manager.Reset': part({ target, 'ResetType@Redfish.AllowableValues': texts }),
  }),
})
