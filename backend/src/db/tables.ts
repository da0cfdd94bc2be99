/** Every table, put together from what each domain declares of its own. A new domain adds its interface here. */
import type { ClusterTables } from '../domains/clusters/tables.ts'
import type { ImageTables } from '../domains/images/tables.ts'
import type { JoinTables } from '../domains/joining/tables.ts'
import type { ServerTables } from '../domains/servers/tables.ts'
import type { SubnetTables } from '../domains/subnets/tables.ts'
import type { PlatformTables } from './platform-tables.ts'

export interface Tables extends PlatformTables, ServerTables, ClusterTables, SubnetTables, JoinTables, ImageTables {}
