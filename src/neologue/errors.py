"""Everything that neologue raises on purpose.

NeologueError
├── InputError            a person gave something that can't be used; the command line exits with 2
│   ├── ParameterError    a number or a choice
│   ├── LanguageError     an alphabet, a language or a list of known words
│   ├── DataError         a file of users and words
│   ├── ReleaseError      a release.json that can't be read
│   ├── SignatureError    a key, or a signature that is required
│   ├── JournalError      an unfinished discovery that can't be gone on with
│   ├── EngineError       a cluster or a machine that can't do the work
│   ├── AccessError       a token that can't be made or revoked
│   ├── CampaignError     a live campaign that is not in a state for what is asked of it
│   │   └── NoCampaignError   or that is not there
│   ├── CredentialError   a device's credential that can't be read
│   ├── ConformanceError  a driver of the conformance kit that can't be used
│   ├── LogError          a log, a checkpoint or a proof that is cut, forked or signed by somebody else
│   └── LedgerError       a ledger that can't be opened, or that can't record what it is given
│       └── BudgetError   a campaign or a release that a population's budget does not allow
├── ReportError           bytes that are not a report for this layer
│   ├── OverfullError     or that have more votes than chance gives an honest device
│   └── RepeatedError     or that another device has sent, where no two honest ones send the same
├── MaskingError          a message of secure aggregation that breaks its rules, or a group that a device refuses
├── DocumentError         bytes that are not the document of a layer, or not the known words, that were promised
├── LaterError            a server that can't be reached, is busy or gives no usable answer; a retry may succeed
│   └── OversizeError     or one that is longer than the device reads
├── PolicyError           an invitation that the device's owner does not accept
│   └── AnsweredError     to a campaign that the device has taken part in; this is final
├── StorageError          a database of the service that is away, full, in use or damaged; nothing was written in part
├── SpendingRecordError   a device's spending record that can't be opened or read
├── MembershipError       a device's membership in a campaign that can't be opened or read
└── DiaryError            a device's diary that can't be opened or read

A message names the value and the remedy, and never anything that one person typed: where the value is
a word from somebody's data, the message gives its row instead.
"""


class NeologueError(Exception):
    """The root of all errors raised by neologue."""


class InputError(NeologueError):
    """A person gave something that can't be used; the message says what would be."""

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        """The name of the field to change, so that a form can show the message beside it; None if there is no such."""


class ParameterError(InputError):
    """A parameter is out of its range, or two of them contradict each other."""


class LanguageError(InputError):
    """An alphabet, a language or a list of known words is missing or unusable."""


class DataError(InputError):
    """A file of users and words is missing, empty, or not in the shape that was promised."""


class ReleaseError(InputError):
    """A release.json is cut, of another version, or not one at all."""


class SignatureError(InputError):
    """A key can't be used, or a signature that is required is missing."""


class LedgerError(InputError):
    """A ledger is missing, in use or damaged, or what is asked of it contradicts what it holds."""


class BudgetError(LedgerError):
    """A campaign or a release would take a population over its budget."""

    def __init__(self, message: str, fits: float | None = None) -> None:
        super().__init__(message)
        self.fits = fits
        """The largest local ε, in hundredths, with which the same campaign would fit; None if none would."""


class JournalError(InputError):
    """The journal of an unfinished discovery is missing, damaged or of another run."""


class EngineError(InputError):
    """A cluster can't be reached or has lost too many workers, or a machine is too small for what is asked."""


class ConformanceError(InputError):
    """A driver of the conformance kit that can't be started, or does not do what it is asked."""


class CredentialError(InputError):
    """A device's credential is cut or damaged, or no credential at all."""


class LogError(InputError):
    """A transparency log, a checkpoint of it or a proof about it is cut, forked, or signed by somebody else."""


class AccessError(InputError):
    """A token can't be made or revoked as was asked."""


class CampaignError(InputError):
    """A live campaign is not in a state for what is asked of it."""


class NoCampaignError(CampaignError):
    """No live campaign has that name."""


class ReportError(NeologueError):
    """The bytes are not a report for this layer."""


class OverfullError(ReportError):
    """A report has more votes than an honest device sends but once in 2^40."""


class RepeatedError(ReportError):
    """Another device has sent the same report, which does not happen by chance."""


class MaskingError(NeologueError):
    """A message of secure aggregation is malformed, out of turn or inconsistent, or asks what a device refuses."""


class DocumentError(NeologueError):
    """The bytes are not the document of a layer or the list of known words that they should be."""


class LaterError(NeologueError):
    """A server gave no usable answer; the same request may be sent again."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait, if the server said so."""


class OversizeError(LaterError):
    """A server's answer is longer than the device reads; no more of it was read than shows that."""


class PolicyError(NeologueError):
    """A device refuses an invitation; the message says which limit it breaks, and never depends on the words held."""


class AnsweredError(PolicyError):
    """A device has taken part in the campaign and has nothing more to send; a retry can't succeed."""


class StorageError(NeologueError):
    """The database of the service is away, full, in use or damaged; the message holds nothing of what is in it."""


class SpendingRecordError(NeologueError):
    """The spending record of a device can't be opened or read."""


class MembershipError(NeologueError):
    """A membership in a campaign can't be opened or read."""


class DiaryError(NeologueError):
    """A diary can't be opened or read."""
