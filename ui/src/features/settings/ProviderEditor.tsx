import { useProviders } from '@/api/providers'
import { ProviderDialog } from './ProviderDialog'

type Props = { name: string | null; onClose(): void }

/** The dialog for a new provider, or for the one of that name once it is known. */
export function ProviderEditor({ name, onClose }: Props) {
  const providers = useProviders()
  if (name === null) return <ProviderDialog provider={null} onClose={onClose} />
  const provider = providers.data?.find((one) => one.name === name)
  return provider === undefined ? null : <ProviderDialog provider={provider} onClose={onClose} />
}
