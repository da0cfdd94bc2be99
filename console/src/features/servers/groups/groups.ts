/** The grouping of the list of servers, in one file: its name is in the script of all pages. */
export { GroupedServers } from './GroupedServers.tsx'
export { GroupMenu } from './GroupMenu.tsx'
