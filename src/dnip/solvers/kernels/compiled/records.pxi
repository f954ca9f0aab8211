# The records of Python as C sees them: the same fields in the same order, eight bytes each. Behind
# an array stands its length; a record within a record is a pointer.

ctypedef double *Floats
ctypedef int64_t *Integers
ctypedef uint32_t *SmallIntegers
ctypedef uint16_t *ShortIntegers
ctypedef uint8_t *Booleans
ctypedef uint64_t *Hashes
ctypedef int64_t *Confusion

cdef struct LevelsRecord:
    int64_t size
    Floats weight
    int64_t n_weights
    double span
    ShortIntegers lowest
    int64_t n_buckets
    int64_t shift
    int64_t first
    double least
    double most
ctypedef LevelsRecord *Levels

cdef struct FloorsRecord:
    Integers correct
    int64_t n_floors
    int64_t total
ctypedef FloorsRecord *Floors

cdef struct TermsRecord:
    double error
    double cobias
    double single
    double tau
    double smoothing
    Floats costs
    int64_t n_costs
    Floors floors
ctypedef TermsRecord *Terms

cdef struct MemoRecord:
    Integers true
    int64_t n_classes
    double total
    Floats pmi_constant
    int64_t n_constants
    Integers correct
    int64_t n_correct
    Integers predicted
    int64_t n_predicted
    Floats accuracy
    int64_t n_accuracies
    Floats pmi
    int64_t n_pmi
    Integers ranking
    int64_t n_present
ctypedef MemoRecord *Memo

cdef struct RowsRecord:
    SmallIntegers label
    int64_t n_rows
    Integers counts
    int64_t n_counts
    Confusion settled
    int64_t n_classes
    Floats columns
    int64_t n_columns
    Integers row_start
    int64_t n_row_starts
    SmallIntegers row_class
    int64_t n_row_classes
    Floats row_p
    int64_t n_row_ps
    Integers class_start
    int64_t n_class_starts
    SmallIntegers class_row
    int64_t n_class_rows
    Floats class_p
    int64_t n_class_ps
ctypedef RowsRecord *Rows

cdef struct FlipsRecord:
    Integers start
    int64_t n_starts
    SmallIntegers true
    int64_t n_flips
    SmallIntegers rival
    int64_t n_rivals
    Integers counts
    int64_t n_counts
ctypedef FlipsRecord *Flips

cdef struct WorkspaceRecord:
    Flips flips
    SmallIntegers rival
    int64_t n_rivals
    Floats score
    int64_t n_scores
    SmallIntegers slot
    int64_t n_slots
    Integers tally
    int64_t n_cells
    Floats weights
    int64_t n_weights
    Confusion confusion
    int64_t n_confusion
    Integers predicted
    int64_t n_predicted
ctypedef WorkspaceRecord *Workspace

cdef struct LinesRecord:
    Hashes key
    int64_t capacity
    SmallIntegers best
    int64_t n_best
    Floats value
    int64_t n_values
    Integers size
    int64_t n_sizes
ctypedef LinesRecord *Lines

cdef struct SetupRecord:
    Rows rows
    Levels levels
    Workspace workspace
    Terms terms
    Memo memo
    Lines lines
ctypedef SetupRecord *Setup

cdef struct DescentRecord:
    Floats indices
    int64_t n_classes
    Integers order
    int64_t n_order
    Confusion confusion
    int64_t n_confusion
    Integers predicted
    int64_t n_predicted
    Hashes hash
    int64_t n_hash
    Integers turn
    int64_t n_turn
    Integers unmoved
    int64_t n_unmoved
    Booleans counted
    int64_t n_counted
    Floats value
    int64_t n_value
ctypedef DescentRecord *Descent

cdef struct MovesRecord:
    Integers classes
    int64_t n_moves
    Integers others
    int64_t n_others
    Floats chances
    int64_t n_chances
ctypedef MovesRecord *Moves

cdef struct WalkRecord:
    Floats indices
    int64_t n_indices
    Floats value
    int64_t n_value
    Floats best
    int64_t n_best
    Floats best_value
    int64_t n_best_value
    Integers accepted
    int64_t n_accepted
    Integers improved
    int64_t n_improved
ctypedef WalkRecord *Walk

cdef struct CellsRecord:
    Floats cobias
    int64_t n_cells
    Integers correct
    int64_t n_correct
    ShortIntegers indices
    int64_t n_indices
    Integers origin
    int64_t n_origins
    Integers width
    int64_t n_width
ctypedef CellsRecord *Cells

cdef struct ScalarisationRecord:
    double error
    double cobias
    double tau
    double error_beyond
    double cobias_beyond
    double error_corner
    double cobias_corner
ctypedef ScalarisationRecord *Scalarisation

cdef struct FrontTermsRecord:
    Terms cobias
    Terms pmi
    Memo cobias_memo
    Memo pmi_memo
ctypedef FrontTermsRecord *FrontTerms

cdef struct VisitRecord:
    FrontTerms terms
    Scalarisation goal
    Cells cells
    Lines lines
    int64_t origin
    int64_t stay
ctypedef VisitRecord *Visit

cdef struct BoxRowsRecord:
    Integers row_start
    int64_t n_row_starts
    SmallIntegers row_class
    int64_t n_entries
    Floats row_p
    int64_t n_row_ps
    Floats row_log_p
    int64_t n_row_log_ps
    SmallIntegers label
    int64_t n_rows
    Integers counts
    int64_t n_counts
    Confusion settled
    int64_t n_classes
ctypedef BoxRowsRecord *BoxRows

cdef struct BoxRecord:
    Integers low
    int64_t n_classes
    Integers high
    int64_t n_high
ctypedef BoxRecord *Box

cdef struct ScaleRecord:
    Floats weight
    int64_t n_weights
    Floats log_weight
    int64_t n_log_weights
ctypedef ScaleRecord *Scale

cdef struct ContestsRecord:
    Integers n_pairs
    int64_t n_n_pairs
    Integers pair
    int64_t n_pair
    Integers start
    int64_t n_starts
    Floats threshold
    int64_t n_thresholds
    SmallIntegers kind
    int64_t n_kinds
    Integers counts
    int64_t n_counts
    Integers place
    int64_t n_places
    Integers raw_pair
    int64_t n_raw_pairs
    Floats raw_threshold
    int64_t n_raw_thresholds
    SmallIntegers raw_kind
    int64_t n_raw_kinds
    Integers raw_counts
    int64_t n_raw_counts
    Integers crowd
    int64_t n_crowd
    Integers raw_crowd
    int64_t n_raw_crowds
    Integers n_crowds
    int64_t n_n_crowds
    Integers crowd_start
    int64_t n_crowd_starts
    SmallIntegers crowd_class
    int64_t n_crowd_classes
    SmallIntegers crowd_label
    int64_t n_crowd_labels
    Integers crowd_stray
    int64_t n_crowd_strays
    Integers most_correct
    int64_t n_most_correct
    Integers most_wrong
    int64_t n_most_wrong
    Floats low
    int64_t n_low
    Floats high
    int64_t n_high
    Integers entries
    int64_t n_entries
ctypedef ContestsRecord *Contests

cdef struct RelaxedRecord:
    Floats reward
    int64_t n_rewards
    Floats penalty
    int64_t n_penalties
    Floats least
    int64_t n_least
    Floats value
    int64_t n_values
    Floats new_least
    int64_t n_new_least
    Floats new_value
    int64_t n_new_values
    Floats correct
    int64_t n_correct
    Floats wrong
    int64_t n_wrong
    Floats new_v
    int64_t n_v
    Floats new_price
    int64_t n_prices
    Floats loss
    int64_t n_losses
    Floats change
    int64_t n_changes
    Integers order
    int64_t n_order
    Floats block_total
    int64_t n_block_totals
    Integers block_size
    int64_t n_block_sizes
ctypedef RelaxedRecord *Relaxed

cdef struct RelaxationRecord:
    Terms terms
    Memo memo
    Scale scale
    Contests contests
    Relaxed relaxed
    double dearest
    int64_t n_steps
ctypedef RelaxationRecord *Relaxation

cdef struct MultipliersRecord:
    Floats v
    int64_t n_classes
    Floats correct
    int64_t n_correct
    Floats wrong
    int64_t n_wrong
    Floats price
    int64_t n_prices
ctypedef MultipliersRecord *Multipliers

cdef struct InstanceRecord:
    BoxRows rows
    Scale scale
    Terms terms
    Terms shortfall
    int64_t least_top
    double margin
ctypedef InstanceRecord *Instance

cdef struct NodesRecord:
    Integers low
    int64_t n_nodes
    Integers high
    int64_t n_high
    Floats bound
    int64_t n_bounds
    Floats multipliers
    int64_t n_multipliers
    Floats price
    int64_t n_prices
ctypedef NodesRecord *Nodes

cdef struct IncumbentRecord:
    Floats value
    int64_t n_value
    Integers point
    int64_t n_classes
    Integers improved
    int64_t n_improved
    Integers n_points
    int64_t n_n_points
ctypedef IncumbentRecord *Incumbent

cdef struct NodeStackRecord:
    Nodes nodes
    Incumbent incumbent
    Memo memo
    Integers split
    int64_t n_splits
    Confusion confusion
    int64_t n_confusions
    Integers first
    int64_t n_first
    Integers n_rows
    int64_t n_n_rows
    Integers end
    int64_t n_ends
    SmallIntegers rows
    int64_t room
    Contests contests
    Relaxed relaxed
    Integers trial
    int64_t n_trial
    Confusion counts
    int64_t n_counts
    Integers predicted
    int64_t n_predicted
ctypedef NodeStackRecord *NodeStack
