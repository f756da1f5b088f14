import {
  Ban,
  Bot,
  Braces,
  Brain,
  CircleAlert,
  Cog,
  File,
  FileQuestion,
  type LucideIcon,
  MessageSquareText,
  Send,
  Terminal,
  User,
  Wrench,
} from 'lucide-react'
import { cn } from '@/components/cn'
import type { PartKind, Speaker } from '@/domain/auditMessage'

const speakers: Record<Speaker, [LucideIcon, string]> = {
  system: [Cog, 'text-t3'],
  agent: [Bot, 'text-blue'],
  tool: [Terminal, 'text-cyan'],
  user: [User, 'text-t3'],
  request: [Send, 'text-t3'],
  refusal: [Ban, 'text-red'],
}

export function SpeakerIcon({ who }: { who: Speaker }) {
  const [Icon, colour] = speakers[who]
  return <Icon aria-hidden className={cn('size-3.5 shrink-0', colour)} />
}

const parts: Record<PartKind, [LucideIcon, string]> = {
  text: [MessageSquareText, 'text-t2'],
  thinking: [Brain, 'text-violet'],
  'tool-use': [Wrench, 'text-blue'],
  'tool-result': [Terminal, 'text-cyan'],
  'server-tool-use': [Wrench, 'text-blue'],
  'server-tool-result': [Terminal, 'text-cyan'],
  file: [File, 'text-t2'],
  declined: [Ban, 'text-amber'],
  tools: [Wrench, 'text-t3'],
  error: [CircleAlert, 'text-red'],
  'request-body': [Braces, 'text-t3'],
  'response-body': [Braces, 'text-t3'],
  other: [FileQuestion, 'text-t3'],
  raw: [FileQuestion, 'text-amber'],
}

export function PartIcon({ kind, failed }: { kind: PartKind; failed: boolean }) {
  const [Icon, colour] = parts[kind]
  return <Icon aria-hidden className={cn('size-3.5 shrink-0', failed ? 'text-red' : colour)} />
}
