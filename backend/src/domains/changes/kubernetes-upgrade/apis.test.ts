import { expect, test } from 'vitest'
import { readDeprecated } from './apis.ts'

test('a line of the metric is read as the API and the release that removes it', () => {
  const line = (labels: string, value = '1') =>
    `apiserver_requested_deprecated_apis{${labels}} ${value}`
  const flows =
    'group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"'
  expect(readDeprecated(line(flows))).toEqual({
    api: 'flowschemas of flowcontrol.apiserver.k8s.io/v1beta3',
    removedIn: 32,
  })
  expect(
    readDeprecated(
      line('group="",removed_release="",resource="componentstatuses",subresource="",version="v1"'),
    ),
  ).toEqual({
    api: 'componentstatuses of v1',
    removedIn: null,
  })
  expect(readDeprecated(line(flows, '0'))).toBeUndefined()
  expect(readDeprecated('apiserver_request_total{code="200"} 1')).toBeUndefined()
})
