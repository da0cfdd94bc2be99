// One file for the pages of alerts: each is small, and the first script lists every file.
export * as channels from './alerts.channels.tsx'
export * as deliveries from './alerts.deliveries.tsx'
export * as rules from './alerts.rules.tsx'
export * as silences from './alerts.silences.tsx'
