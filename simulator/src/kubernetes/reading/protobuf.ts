import type { Body } from '../../config/shape.ts'
/**
 * Request bodies in Kubernetes' protobuf encoding, which kubectl's clients always use for built-in
 * kinds: four bytes of magic and a `runtime.Unknown` around the object (Kubernetes:
 * docs/reference/using-api/api-concepts, "Kubernetes Protobuf encoding").
 */
import { Refusal } from '../refusal.ts'

/**
 * The supported messages. Each field is `name=number` with its type: text by default, `#` a number,
 * `+` a number that may be zero, `!` a flag, `%` a map of texts, `%b` a map of bytes, `%q` one of
 * quantities, `-` ignored, `:Message` another message; a trailing `*` is a list. From the
 * `generated.proto` files of k8s.io/api.
 */
const MESSAGES: Readonly<Record<string, string>> = {
  Unknown: 'typeMeta=1:TypeMeta raw=2- contentEncoding=3 contentType=4',
  TypeMeta: 'apiVersion=1 kind=2',
  ObjectMeta:
    'name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7# creationTimestamp=8- labels=11% annotations=12% ownerReferences=13:OwnerReference* finalizers=14* managedFields=17-',
  OwnerReference: 'kind=1 name=3 uid=4 apiVersion=5 controller=6! blockOwnerDeletion=7!',
  Namespace: 'metadata=1:ObjectMeta spec=2- status=3-',
  ConfigMap: 'metadata=1:ObjectMeta data=2% binaryData=3%b immutable=4!',
  Secret: 'metadata=1:ObjectMeta data=2%b type=3 stringData=4% immutable=5!',
  ServiceAccount: 'metadata=1:ObjectMeta automountServiceAccountToken=4!',
  Service: 'metadata=1:ObjectMeta spec=2:ServiceSpec status=3-',
  ServiceSpec:
    'ports=1:ServicePort* selector=2% clusterIP=3 type=4 externalIPs=5* sessionAffinity=7 loadBalancerIP=8 loadBalancerSourceRanges=9* externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12# publishNotReadyAddresses=13! ipFamilyPolicy=17 clusterIPs=18* ipFamilies=19* allocateLoadBalancerNodePorts=20! loadBalancerClass=21 internalTrafficPolicy=22',
  ServicePort: 'name=1 protocol=2 port=3# targetPort=4:IntOrString nodePort=5# appProtocol=6',
  IntOrString: 'type=1# intVal=2# strVal=3',
  Deployment: 'metadata=1:ObjectMeta spec=2:DeploymentSpec status=3-',
  DeploymentSpec:
    'replicas=1+ selector=2:LabelSelector template=3:PodTemplateSpec strategy=4- minReadySeconds=5# revisionHistoryLimit=6+ paused=7! progressDeadlineSeconds=9+',
  LabelSelector: 'matchLabels=1%',
  PodTemplateSpec: 'metadata=1:ObjectMeta spec=2:PodSpec',
  PodSpec:
    'containers=2:Container* restartPolicy=3 dnsPolicy=6 nodeSelector=7% serviceAccountName=8 serviceAccount=9 nodeName=10 hostNetwork=11! hostPID=12! hostIPC=13! hostname=16 subdomain=17 schedulerName=19',
  Container:
    'name=1 image=2 command=3* args=4* workingDir=5 ports=6:ContainerPort* env=7:EnvVar* terminationMessagePath=13 imagePullPolicy=14 stdin=16! stdinOnce=17! tty=18! terminationMessagePolicy=20',
  ContainerPort: 'name=1 hostPort=2# containerPort=3# protocol=4 hostIP=5',
  EnvVar: 'name=1 value=2',
  Job: 'metadata=1:ObjectMeta spec=2:JobSpec status=3-',
  JobSpec:
    'parallelism=1+ completions=2+ activeDeadlineSeconds=3+ template=6:PodTemplateSpec backoffLimit=7+ ttlSecondsAfterFinished=8+ completionMode=9 suspend=10!',
  CronJob: 'metadata=1:ObjectMeta spec=2:CronJobSpec status=3-',
  CronJobSpec:
    'schedule=1 concurrencyPolicy=3 suspend=4! jobTemplate=5:JobTemplateSpec successfulJobsHistoryLimit=6+ failedJobsHistoryLimit=7+ timeZone=8',
  JobTemplateSpec: 'metadata=1:ObjectMeta spec=2:JobSpec',
  ResourceQuota: 'metadata=1:ObjectMeta spec=2:ResourceQuotaSpec status=3-',
  ResourceQuotaSpec: 'hard=1%q scopes=2*',
  Quantity: 'string=1',
  Role: 'metadata=1:ObjectMeta rules=2:PolicyRule*',
  ClusterRole: 'metadata=1:ObjectMeta rules=2:PolicyRule*',
  RoleBinding: 'metadata=1:ObjectMeta subjects=2:Subject* roleRef=3:RoleRef',
  ClusterRoleBinding: 'metadata=1:ObjectMeta subjects=2:Subject* roleRef=3:RoleRef',
  PolicyRule: 'verbs=1* apiGroups=2* resources=3* resourceNames=4* nonResourceURLs=5*',
  RoleRef: 'apiGroup=1 kind=2 name=3',
  Subject: 'kind=1 apiGroup=2 name=3 namespace=4',
  Eviction: 'metadata=1:ObjectMeta deleteOptions=2:DeleteOptions',
  DeleteOptions:
    'gracePeriodSeconds=1+ preconditions=2:Preconditions orphanDependents=3! propagationPolicy=4 dryRun=5*',
  Preconditions: 'uid=1 resourceVersion=2',
  SelfSubjectReview: 'metadata=1:ObjectMeta status=2-',
  SelfSubjectAccessReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec status=3-',
  SelfSubjectAccessReviewSpec:
    'resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:NonResourceAttributes',
  ResourceAttributes: 'namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7',
  NonResourceAttributes: 'path=1 verb=2',
  SelfSubjectRulesReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectRulesReviewSpec status=3-',
  SelfSubjectRulesReviewSpec: 'namespace=1',
}

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const MAGIC = Buffer.from('k8s\0')
const MAX_DEPTH = 20

interface Field {
  name: string
  mark: string
  message: string
  isList: boolean
}

const schemas = new Map<string, Map<number, Field>>()

const schemaOf = (message: string): Map<number, Field> => {
  let found = schemas.get(message)
  if (!found) {
    found = new Map(
      (MESSAGES[message] ?? '').split(' ').map((entry) => {
        const [, name = '', number = '', mark = '', inner = '', list = ''] =
          /^(\w+)=(\d+)([#+!-]|%[bq]?)?(?::(\w+))?(\*?)$/.exec(entry)!
        return [Number(number), { name, mark, message: inner, isList: list === '*' }]
      }),
    )
    schemas.set(message, found)
  }
  return found
}

/**
 * Decodes the object in a body. Throws a `Refusal` for invalid bytes, unknown kinds, and unknown
 * non-empty fields.
 */
export const readProtobuf = (bytes: Buffer): Body => {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw malformed()
  const parts = fieldsOf(bytes.subarray(MAGIC.length))
  const type = parts.find(({ number }) => number === 1)?.value
  const raw = parts.find(({ number }) => number === 2)?.value
  const { apiVersion, kind } = Buffer.isBuffer(type) ? readMessage('TypeMeta', type, 0) : {}
  if (typeof kind !== 'string' || !Buffer.isBuffer(raw)) throw malformed()
  if (!Object.hasOwn(MESSAGES, kind)) throw unread(`objects of kind ${kind}`)
  return { apiVersion, kind, ...readMessage(kind, raw, 0) }
}

const malformed = (): Refusal =>
  new Refusal(400, 'BadRequest', 'the body is no object in Kubernetes protobuf form')
const unread = (what: string): Refusal =>
  new Refusal(
    415,
    'UnsupportedMediaType',
    `this simulated API server doesn't read ${what} in protobuf form; send JSON, as kubectl apply does`,
  )

const readMessage = (message: string, bytes: Buffer, depth: number): Body => {
  if (depth > MAX_DEPTH) throw malformed()
  const result: Body = {}
  const schema = schemaOf(message)
  for (const { number, value } of fieldsOf(bytes)) {
    const field = schema.get(number)
    const isEmpty = Buffer.isBuffer(value) ? value.length === 0 : value === 0
    if (!field) {
      if (!isEmpty) throw unread(`field ${number} of ${message}`)
      continue
    }
    const { name, mark, isList } = field
    if (mark === '-' || (isEmpty && !isList && mark !== '+')) continue
    if (mark.startsWith('%')) {
      if (!Buffer.isBuffer(value)) throw malformed()
      const entry = Object.fromEntries(fieldsOf(value).map((part) => [part.number, part.value]))
      const [key, text] = [textOf(entry[1] ?? Buffer.alloc(0)), entry[2] ?? Buffer.alloc(0)]
      if (!Buffer.isBuffer(text)) throw malformed()
      const map = (result[name] ??= {}) as Body
      const item =
        mark === '%q'
          ? (readMessage('Quantity', text, depth + 1).string ?? '')
          : text.toString(mark === '%b' ? 'base64' : 'utf8')
      Object.defineProperty(map, key, {
        value: item,
        enumerable: true,
        configurable: true,
        writable: true,
      })
      continue
    }
    const read = readValue(field, value, depth)
    if (isList) ((result[name] ??= []) as unknown[]).push(read)
    else result[name] = read
  }
  return result
}

const readValue = ({ mark, message }: Field, value: number | Buffer, depth: number): unknown => {
  if (mark === '#' || mark === '+') return value
  if (mark === '!') return value !== 0
  if (message === '') return textOf(value)
  if (!Buffer.isBuffer(value)) throw malformed()
  const inner = readMessage(message, value, depth + 1)
  // The value is a number unless the field `type` is 1.
  return message === 'IntOrString'
    ? inner.type === 1
      ? (inner.strVal ?? '')
      : (inner.intVal ?? 0)
    : inner
}

const textOf = (value: number | Buffer): string => {
  if (!Buffer.isBuffer(value)) throw malformed()
  return value.toString('utf8')
}

/**
 * The fields of a message in order: varints as numbers (also negative), length-delimited values as
 * bytes.
 */
const fieldsOf = (bytes: Buffer): { number: number; value: number | Buffer }[] => {
  const found: { number: number; value: number | Buffer }[] = []
  let at = 0
  const varint = (): bigint => {
    let result = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw malformed()
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return result
    }
    throw malformed()
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >>> 3
    if ((tag & 7) === 0) found.push({ number, value: Number(BigInt.asIntN(64, varint())) })
    else if ((tag & 7) === 2) {
      const length = Number(varint())
      if (length > bytes.length - at) throw malformed()
      found.push({ number, value: bytes.subarray(at, at + length) })
      at += length
    } else throw malformed()
  }
  return found
}
