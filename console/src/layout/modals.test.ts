// @vitest-environment happy-dom
import { afterEach, expect, test } from 'vitest'
import { closeDialog, openedDialogs, shownDialog } from '../ui/overlay/dialogs.ts'
import { confirmServersWithoutPatch, editServerName, showClusterKey } from './modals.ts'

afterEach(() => openedDialogs.set([]))

test('of the open global modals one is shown: the cluster key first, then the server name, then the servers without a patch', () => {
  void confirmServersWithoutPatch({ servers: [], onConfirm: () => undefined })
  void showClusterKey({ clusterIds: [] })
  void editServerName({ serverId: '1', name: 'a' })
  const order: unknown[] = []
  for (
    let shown = shownDialog(openedDialogs.get());
    shown !== null;
    shown = shownDialog(openedDialogs.get())
  ) {
    order.push(Object.keys(shown.element.props as object)[0])
    closeDialog(shown.id)
  }
  expect(order).toEqual(['clusterIds', 'serverId', 'servers'])
})
