/** Screens of channels, rules, silences and the messages to channels. */
import { dialog, press, rowAction, table } from './acts.ts'
import type { Screen } from './screen.ts'

export const alertScreens: readonly Screen[] = [
  {
    name: 'alerts',
    path: '/alerts/channels',
    ready: (page) => page.getByRole('heading', { name: 'Nobody is notified yet' }).waitFor(),
  },
  {
    name: 'channel-add',
    path: '/alerts/channels',
    async ready(page) {
      await press(page, 'Add channel')
      await page
        .getByRole('dialog', { name: 'Add channel' })
        .getByRole('button', { name: 'Add channel' })
        .click()
      await page.getByText('Enter a URL without').waitFor()
    },
  },
  {
    name: 'alert-rules',
    path: '/alerts/rules',
    ready: (page) => table(page, 'Rules'),
  },
  {
    name: 'alert-rule-edit',
    path: '/alerts/rules',
    async ready(page) {
      await rowAction(page, 'urgent', 'Edit')
      await dialog(page, 'Edit urgent')
    },
  },
  {
    name: 'silences',
    path: '/alerts/silences',
    ready: (page) => page.getByRole('heading', { name: 'Nothing is silenced' }).waitFor(),
  },
  {
    name: 'silence-add',
    path: '/alerts/silences',
    async ready(page) {
      await press(page, 'Add silence')
      await page
        .getByRole('dialog', { name: 'Add silence' })
        .getByRole('button', { name: 'Add silence' })
        .click()
      await page.getByText('Say why it is silenced').waitFor()
    },
  },
  {
    name: 'deliveries',
    path: '/alerts/deliveries',
    ready: (page) => page.getByRole('heading', { name: 'No messages yet' }).waitFor(),
  },
]
